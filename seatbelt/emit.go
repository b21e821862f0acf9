package seatbelt

import (
	"slices"
	"strconv"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
)

// limit bounds the text and the parameters together, in bytes. Two measured
// bounds lie above it: profiles fail when they compile to about 65,535 bytes
// (nix#12570), to which each path and each filter add no more than they add here,
// and the argument list fails at ARG_MAX, 1 MiB with the environment
// (claude-code#74081).
const limit = 60_000

// dataVolume is where macOS shows its data volume a second time. Firmlinks join
// /Users and others to it, and the reports disagree on which spelling the kernel
// asks with (bazel#13766, agent-sandbox.nix#45).
const dataVolume = "/System/Volumes/Data"

// The operations that the policy's two words stand for. file-link is asked of a
// hard link's source and is not a file-write*: without it a file of a denied or
// readonly root gets a second name in a writable place. file-clone copies a file
// without reading it. process-exec* keeps a program from being run with a library
// of the caller's choice inside, which would read it.
const (
	readOps  = "file-read* file-clone process-exec*"
	writeOps = "file-write* file-link"
	pinOps   = "file-write-unlink file-write-create"
)

// The devices that stay writable. None of them holds data; chmod and chown are
// part of opening a terminal, removing them is not.
const (
	nodes   = `(literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx") (literal "/dev/dtracehelper") (regex #"^/dev/ttys[0-9]+$")`
	devices = "(allow file-write* " + nodes + ` (subpath "/dev/fd"))` + "\n" +
		"(deny file-write-unlink " + nodes + ")\n"
)

// Profile translates a policy. The order of the rules is the policy's emission
// order, since the last match wins among rules of one operation.
//
// The rules for single operations (metadata, unlink, create) come last. By most
// reports a specific operation beats a wildcard one wherever it stands
// (greywall#20, nono#697); by some the order alone counts. At the end both agree.
// They carry filters for the same reason: how a specific rule without one weighs
// against a filtered wildcard is unmeasured.
//
// Every path that is denied is also denied below /System/Volumes/Data; what is
// allowed is allowed in the kernel's own spelling only. r must therefore hold
// that spelling, as package hostfs answers on macOS.
//
// It fails with a [*SizeError] only.
func Profile(r policy.Resolved) (Plan, error) {
	e := emitter{r: r, names: make(map[string]string)}
	e.text.WriteString("(version 1)\n(allow default)\n")
	if !r.Restricts() {
		return e.plan(), nil
	}
	e.present()
	e.detours()
	if r.Default() == policy.Read {
		e.text.WriteString("(deny " + writeOps + ` (subpath "/"))` + "\n" + devices)
	}
	for _, l := range e.layers {
		e.layer(l)
	}
	roots := len(e.names)
	e.metadata()
	e.pins()
	plan := e.plan()
	if n := size(plan); n > limit {
		return Plan{}, &SizeError{Bytes: n, Limit: limit, Roots: roots, Ancestors: len(e.names) - roots}
	}
	return plan, nil
}

func size(p Plan) int {
	n := len(p.Text)
	for _, param := range p.Params {
		n += len("-D=") + len(param.Name) + len(param.Value) + 1
	}
	return n
}

// Above returns the directories above dir that a command confined by r may stat
// but not list. macOS programs that walk up from their working directory want to
// list them, and letta-code reports that a child may start with an empty
// environment there: a caller warns or refuses such a directory.
func Above(r policy.Resolved, dir string) []string {
	var hidden []string
	for _, up := range policy.Ancestors(dir) {
		if r.Decide(up).Access == policy.None {
			hidden = append(hidden, up)
		}
	}
	return hidden
}

// emitter collects the text and the parameters of one profile.
type emitter struct {
	r       policy.Resolved
	layers  []policy.Layer
	text    strings.Builder
	params  []Param
	names   map[string]string // path -> parameter
	skipped []policy.Root
}

func (e *emitter) plan() Plan {
	return Plan{Text: e.text.String(), Params: e.params, Skipped: e.skipped}
}

// filter returns one filter on path, which becomes a parameter.
func (e *emitter) filter(kind, path string) string {
	name, ok := e.names[path]
	if !ok {
		name = "R" + strconv.Itoa(len(e.params))
		e.names[path] = name
		e.params = append(e.params, Param{Name: name, Value: path})
	}
	return "(" + kind + ` (param "` + name + `"))`
}

func (e *emitter) rule(verdict, ops string, filters []string) {
	if len(filters) > 0 {
		e.text.WriteString("(" + verdict + " " + ops + " " + strings.Join(filters, " ") + ")\n")
	}
}

// spellings returns path and, where there is one, its other spelling.
func spellings(path string) []string {
	switch {
	case path == "/dev" || strings.HasPrefix(path, "/dev/"):
		return []string{path}
	case strings.HasPrefix(path, dataVolume+"/"):
		return []string{path, path[len(dataVolume):]}
	}
	return []string{path, dataVolume + path}
}

// cover returns the filters for a root in the spellings given. Whether subpath
// covers a plain file is disputed (KiroCrew#7743), hence the literal; a missing
// root may yet become a file.
func (e *emitter) cover(root *policy.Root, paths []string) []string {
	var filters []string
	for _, path := range paths {
		filters = append(filters, e.filter("subpath", path))
		if root.Kind != policy.Dir {
			filters = append(filters, e.filter("literal", path))
		}
	}
	return filters
}

// sockets returns the filters for the sockets in or at a root. Connecting is a
// network operation, which no file rule stops. Its exact filter is spelled
// path-literal, as in the system's own profiles.
func (e *emitter) sockets(root *policy.Root, paths []string) []string {
	var filters []string
	for _, path := range paths {
		filters = append(filters, "(remote unix-socket "+e.filter("subpath", path)+")")
		if root.Kind != policy.Dir {
			filters = append(filters, "(remote unix-socket "+e.filter("path-literal", path)+")")
		}
	}
	return filters
}

// present leaves out the missing base and writable roots ([Plan.Skipped]).
func (e *emitter) present() {
	for _, l := range e.r.Layers() {
		if l.Access == policy.ReadWrite && l.Root.Kind == policy.Missing {
			e.skipped = append(e.skipped, *l.Root)
		} else {
			e.layers = append(e.layers, l)
		}
	}
}

// access is what the emitted layers say of path. It differs from r.Decide at and
// below a root that was skipped.
func (e *emitter) access(path string) policy.Access {
	for _, l := range slices.Backward(e.layers) {
		if policy.Holds(l.Root.Path, path) {
			return l.Access
		}
	}
	return e.r.Default()
}

// hidden returns the denied directories above path.
func (e *emitter) hidden(path string) []string {
	return slices.DeleteFunc(policy.Ancestors(path), func(up string) bool { return e.access(up) != policy.None })
}

// detours closes the ways to a file that name no path of it: a mount, of a
// snapshot above all, shows a tree in a place that no rule speaks of, and a disk
// device holds everything. Disk images cannot be attached either.
func (e *emitter) detours() {
	e.text.WriteString("(deny file-mount file-unmount)\n")
	ops := "file-write*"
	for _, l := range e.layers {
		if l.Access == policy.None {
			ops = "file-read* file-write*"
		}
	}
	e.rule("deny", ops, []string{`(regex #"^/dev/r?disk[0-9]")`})
}

func (e *emitter) layer(l policy.Layer) {
	own := []string{l.Root.Path}
	both := spellings(l.Root.Path)
	switch l.Access {
	case policy.None:
		e.rule("deny", readOps+" "+writeOps, e.cover(l.Root, both))
		e.rule("deny", "network-outbound", e.sockets(l.Root, both))
		return
	case policy.Read:
		e.rule("allow", readOps, e.cover(l.Root, own))
		e.rule("deny", writeOps, e.cover(l.Root, both))
		if l.Root.Path == "/dev" {
			e.text.WriteString(devices)
		}
	case policy.ReadWrite:
		e.rule("allow", readOps+" "+writeOps, e.cover(l.Root, own))
	}
	if len(e.hidden(l.Root.Path)) > 0 {
		e.rule("allow", "network-outbound", e.sockets(l.Root, own))
	}
}

// metadata lets the denied roots be seen, and the denied directories above a
// carve-out: a symlink on the way is only followed where its metadata can be
// read, and git and getcwd stat every directory above them.
func (e *emitter) metadata() {
	var filters []string
	seen := make(map[string]bool)
	add := func(path string) {
		if !seen[path] {
			seen[path] = true
			filters = append(filters, e.filter("literal", path))
		}
	}
	for _, l := range e.layers {
		if l.Access == policy.None {
			add(l.Root.Path)
			continue
		}
		for _, up := range e.hidden(l.Root.Path) {
			add(up)
		}
	}
	e.rule("allow", "file-read-metadata", filters)
}

// pins keeps the roots where they are. Rules go by path: moving a denied or
// readonly root, or a directory above it, takes it out from under its rule
// (srt#8), and a writable root that was replaced by a link would be another
// directory for the next run. Creation is refused too, because it is what the
// target of a rename is asked for, and exchanging two directories makes each of
// them a target; where nothing is yet, a directory above a missing root may still
// be made.
func (e *emitter) pins() {
	var fixed, free []string
	seen := make(map[string]bool)
	pin := func(path string, exists bool) {
		if seen[path] {
			return
		}
		seen[path] = true
		for _, p := range spellings(path) {
			if exists {
				fixed = append(fixed, e.filter("literal", p))
			} else {
				free = append(free, e.filter("literal", p))
			}
		}
	}
	for _, l := range e.layers {
		pin(l.Root.Path, true)
		if l.Access == policy.ReadWrite {
			continue // what lies above it is not writable
		}
		for _, up := range policy.Ancestors(l.Root.Path) {
			if !fixture(up) && e.access(up) == policy.ReadWrite {
				pin(up, policy.Holds(up, l.Root.Existing))
			}
		}
	}
	e.rule("deny", pinOps, fixed)
	e.rule("deny", "file-write-unlink", free)
}

// fixture reports whether dir cannot be moved anyway.
func fixture(dir string) bool {
	return dir == "/" || dir == "/dev" || dir == "/proc" || dir == "/sys"
}
