// Package bwrap confines a command by a mount namespace that bubblewrap sets up.
//
// Denied roots are masked, so that nothing below them exists for the command;
// what must not be written is mounted read-only, so that writing fails with
// EROFS, metadata included. [New] turns a policy into bubblewrap's arguments; it
// is pure, and uses only options that bubblewrap 0.4 knows. The launcher starts
// bubblewrap with them and with a stage of its own inside the sandbox
// (internal/inner), which checks what it finds before the command runs.
//
// # Limits
//
// A hard link made beforehand shows a denied file under its other name. Sockets
// outside denied roots stay reachable, and with them whatever listens there. A
// file system that the host mounts later below a shared mount arrives. As root
// bubblewrap makes no user namespace: the command keeps the capabilities that
// internal/harden lists, and owns what root owns.
package bwrap

import (
	"errors"
	"fmt"
	"slices"

	"github.com/letta-confine/letta-confine/policy"
)

// Host is what emission needs to know of the caller and its machine.
type Host struct {
	// Privileged is whether the caller has capabilities in the namespace that
	// owns the mounts, as root has. Bubblewrap then makes no user namespace,
	// and would let the command keep every capability.
	Privileged bool

	// Keep are the capabilities of a privileged command, by name. Each must be
	// in the caller's own permitted set: told to add one that is not,
	// bubblewrap keeps them all, silently (measured: 0.4 to 0.13).
	Keep []string

	// Layered is whether the inner stage adds a Landlock domain. Without one,
	// nothing but a pid namespace keeps the command from /proc/PID/root of a
	// process outside, whoever runs it (measured: uid 0 and 1000).
	Layered bool

	// Isolate gives the command its own process and IPC namespaces: it sees and
	// signals no process of the host's, and none of its own outlives it.
	Isolate bool

	// Unsupervised is whether nothing of the launcher stays beside bubblewrap.
	Unsupervised bool

	// Private are denied roots in whose place the command has an empty directory
	// that it can write: what is there on the host stays hidden. They are
	// canonical, and directories.
	Private []string

	// ControlFiles are the kernel's control files that exist (ControlFiles).
	ControlFiles []string

	// Replaceable reports whether the caller's own rights suffice to rename or
	// replace the entries of a directory (policy.FS). A directory above a root
	// that cannot be renamed needs no pin. Nil stands for a caller who can do
	// everything.
	Replaceable func(dir string) bool

	// Protect are files of the launcher's own that the command must not change:
	// its program, bubblewrap, the policy file. They are canonical.
	Protect []Protected
}

// Protected is a file that stays read-only although the policy would let the
// command write it, because it decides what the next run may do.
type Protected struct {
	Path string
	ID   policy.ID
}

// ControlFiles are the files and directories through which uid 0 steers the
// kernel. Bubblewrap covers /proc/sys only if access(2) says it is writable,
// which for root it never says, while open succeeds (measured: 0.8.0, 0.11.1);
// and core_pattern alone runs a program outside every namespace.
var ControlFiles = []string{
	"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi", "/sys",
}

// maxArgs is where bubblewrap gives up, with or without --args ("Exceeded
// maximum number of arguments"; bubblewrap.c, MAX_ARGS).
const maxArgs = 9000

// ErrTooMany says that a policy needs more arguments than bubblewrap takes.
var ErrTooMany = errors.New("too many roots for bubblewrap")

// Check is a path that must be found in a certain state inside the sandbox
// before the command runs.
type Check struct {
	Path  string
	ID    policy.ID // zero: whatever is there
	State State
}

// State is what a Check expects.
type State uint8

// The states of a checked path.
const (
	Same    State = iota // the file that was resolved
	Masked               // a mask; on the host the file that was resolved
	Fixed                // the file that was resolved, on a read-only mount
	Private              // an empty directory to write in; on the host the file that was resolved
)

// Plan is a policy in bubblewrap's terms.
type Plan struct {
	// Args stand before the inner stage's command, without the "--".
	Args []string

	// Private is whether bubblewrap has to start from a mount table into which
	// nothing propagates, which takes a privilege.
	Private bool

	// Checks are what the inner stage verifies.
	Checks []Check

	// Create are the missing roots that must be made, as empty directories,
	// before the plan can run: the command could create them, and a mask needs
	// a mount point. Their checks have no identity yet, so the policy has to be
	// resolved again once they are made.
	Create []policy.Root

	// Skipped are the missing roots that need no mount: nothing can be there
	// while the command runs.
	Skipped []policy.Root

	Enforcement policy.Enforcement
}

// New returns the plan for a policy.
//
// The order of mounts is policy's emission order; what stands around it is
// bubblewrap's own: the root, a private /dev, the kernel's control files, and
// after all mounts the seals. A mask is sealed by a read-only remount because an
// unsealed one is a writable tmpfs, where a write succeeds and vanishes with the
// sandbox. It cannot be sealed earlier, because bubblewrap makes the mount points
// of the carve-outs inside it.
//
// A directory above a denied or read-only root is bound onto itself where the
// command could rename it: a mount point cannot be renamed (EBUSY). Without
// that, moving the directory away and leaving an empty one in its place makes
// the next run mask the wrong tree. The price is EXDEV for a rename across it.
//
// It fails with ErrTooMany where bubblewrap would refuse the number of arguments.
func New(r policy.Resolved, h Host) (Plan, error) {
	if h.Replaceable == nil {
		h.Replaceable = func(string) bool { return true }
	}
	e := emitter{r: r, h: h, mounted: map[string]bool{"/": true}}
	if r.Default() == policy.ReadWrite {
		e.add("--bind", "/", "/")
	} else {
		e.add("--ro-bind", "/", "/")
		e.check("/", policy.ID{}, Fixed)
	}
	e.add("--dev", "/dev", "--tmpfs", "/dev/shm")
	switch {
	case h.Isolate:
		e.add("--unshare-pid", "--unshare-ipc", "--proc", "/proc")
	case !h.Layered:
		e.add("--unshare-pid", "--proc", "/proc")
	case r.Default() == policy.Read:
		// A read-only bind of the root is recursive. What a process writes
		// about itself, such as the maps of a user namespace, is no file effect.
		e.add("--bind", "/proc", "/proc")
	}
	for _, file := range h.ControlFiles {
		if file == "/sys" && r.Default() == policy.Read {
			continue
		}
		e.add("--ro-bind-try", file, file)
		e.mounted[file] = true
	}
	for _, l := range r.Layers() {
		e.layer(l)
	}
	for _, p := range h.Protect {
		e.protect(p)
	}
	slices.Reverse(e.seals)
	for _, mask := range append(e.seals, "/dev") {
		e.add("--remount-ro", mask)
	}
	e.privileges(h)
	if n := len(e.plan.Args); n > maxArgs-innerArgs {
		return Plan{}, fmt.Errorf("%w: they need %d arguments and it takes %d", ErrTooMany, n+innerArgs, maxArgs)
	}
	e.plan.Private = h.Privileged
	e.plan.Enforcement = enforcement(r, h)
	return e.plan, nil
}

// innerArgs is room for what the launcher adds: --chdir DIR, --args FD, "--",
// and the inner stage's own command line.
const innerArgs = 16

type emitter struct {
	r       policy.Resolved
	h       Host
	plan    Plan
	mounted map[string]bool // mount points so far, which cannot be renamed
	seals   []string        // masks, from the shallowest to the deepest
}

func (e *emitter) add(args ...string) { e.plan.Args = append(e.plan.Args, args...) }

func (e *emitter) check(path string, id policy.ID, s State) {
	e.plan.Checks = append(e.plan.Checks, Check{Path: path, ID: id, State: s})
}

func (e *emitter) layer(l policy.Layer) {
	root := l.Root
	if root.Kind == policy.Missing && !e.missing(l) {
		return
	}
	if l.Access != policy.ReadWrite {
		e.pinAbove(root.Path)
	}
	e.mounted[root.Path] = true
	switch {
	case l.Access == policy.None && (root.Kind == policy.Dir || root.Kind == policy.Missing):
		e.add("--tmpfs", root.Path)
		if slices.Contains(e.h.Private, root.Path) {
			e.check(root.Path, root.ID, Private)
			return
		}
		e.seals = append(e.seals, root.Path)
		e.check(root.Path, root.ID, Masked)
		return
	case l.Access == policy.None:
		// A bind, because --tmpfs needs a directory; of /dev/null, because a
		// device on a nodev mount refuses everyone with EACCES, where an empty
		// file of any mode would read as empty for root.
		e.add("--ro-bind", "/dev/null", root.Path)
		e.check(root.Path, root.ID, Masked)
		return
	case l.Access == policy.Read:
		e.readOnly(root)
		return
	case root.Kind == policy.Device:
		e.add("--dev-bind", root.Path, root.Path)
	default:
		e.add("--bind", root.Path, root.Path)
	}
	e.check(root.Path, root.ID, Same)
}

// missing decides about a root that is not there, and reports whether it has to
// be covered all the same.
func (e *emitter) missing(l policy.Layer) bool {
	if l.Access == policy.ReadWrite || !l.Root.Creatable {
		e.plan.Skipped = append(e.plan.Skipped, *l.Root)
		return false
	}
	if l.Root.NotDir {
		// The file in the way must stay, or the command could put a directory
		// in its place and fill it.
		e.pinAbove(l.Root.Blocker)
		e.pin(l.Root.Blocker)
		e.plan.Skipped = append(e.plan.Skipped, *l.Root)
		return false
	}
	e.plan.Create = append(e.plan.Create, *l.Root)
	return true
}

// pinAbove pins the directories above a path, the topmost first. No mount made
// so far can lie below one of them and be hidden by it: a denied or read-only
// layer pinned its own ancestors, and a writable one inside a writable directory
// is folded.
func (e *emitter) pinAbove(path string) {
	for _, dir := range slices.Backward(policy.Ancestors(path)) {
		e.pin(dir)
	}
}

// pin binds a path onto itself if the command could otherwise rename it. The
// kernel's and bubblewrap's own trees are left out: they cannot be renamed, and
// a bind of /dev would bring the host's devices back.
func (e *emitter) pin(path string) {
	if e.mounted[path] || e.r.Decide(path).Access != policy.ReadWrite || e.r.Decide(parent(path)).Access != policy.ReadWrite ||
		!e.h.Replaceable(parent(path)) {
		return
	}
	for _, own := range []string{"/dev", "/proc", "/sys"} {
		if policy.Holds(own, path) {
			return
		}
	}
	e.add("--bind", path, path)
	e.mounted[path] = true
}

func parent(path string) string {
	if up := policy.Ancestors(path); len(up) > 0 {
		return up[0]
	}
	return path
}

// protect binds a file of the launcher's own read-only, where it is writable
// by default. Where a mask hides it, it is out of reach already.
func (e *emitter) protect(p Protected) {
	if e.mounted[p.Path] || e.r.Decide(p.Path).Access != policy.ReadWrite {
		return
	}
	e.pinAbove(p.Path)
	e.add("--ro-bind", p.Path, p.Path)
	e.mounted[p.Path] = true
	e.check(p.Path, p.ID, Fixed)
}

// privileges takes what reaches around mounts. A plain user gets a user
// namespace, in which the mounts above are locked, and no capability in it.
func (e *emitter) privileges(h Host) {
	if !h.Privileged {
		e.add("--unshare-user")
	} else {
		e.add("--cap-drop", "ALL")
		for _, name := range h.Keep {
			e.add("--cap-add", name)
		}
	}
	// With --die-with-parent the command ends with bubblewrap, and bubblewrap
	// with the supervisor: nothing of a killed launcher stays behind. Without a
	// supervisor that would be the caller, whose end is none of our business.
	if !h.Unsupervised {
		e.add("--die-with-parent")
	}
}

func enforcement(r policy.Resolved, h Host) policy.Enforcement {
	e := policy.Enforcement{OverDenials: []policy.OverDenial{
		{Name: "private-dev", Path: "/dev"},
		{Name: "devices"},
	}}
	for _, l := range r.Layers() {
		if l.Access != policy.ReadWrite && l.Root.Kind != policy.Missing {
			e.OverDenials = append(e.OverDenials, policy.OverDenial{Name: "pinned", Path: l.Root.Path})
		}
	}
	if h.Privileged {
		e.OverDenials = append(e.OverDenials, policy.OverDenial{Name: "late-mounts"})
	} else {
		e.OverDenials = append(e.OverDenials, policy.OverDenial{Name: "owners"})
	}
	if fifos(r, h.Layered) {
		e.Gaps = append(e.Gaps, policy.GapFIFO)
	}
	if h.Unsupervised {
		e.Limits = append(e.Limits, "unsupervised")
	}
	if !h.Layered || h.Isolate {
		e.OverDenials = append(e.OverDenials, policy.OverDenial{Name: "processes"}, policy.OverDenial{Name: "nested-user-namespaces"})
	}
	if h.Privileged && r.Default() == policy.ReadWrite {
		e.Gaps = append(e.Gaps, policy.GapDeferred)
	}
	return e
}

// fifos reports whether a fifo that must only be read can be written to: a
// read-only mount does not stop that. The Landlock layer does, except in a
// readonly root inside a place where it grants writing.
func fifos(r policy.Resolved, layered bool) bool {
	if !layered && r.Default() == policy.Read {
		return true
	}
	layers := r.Layers()
	for i, l := range layers {
		if l.Access != policy.Read {
			continue
		}
		inside := r.Default() == policy.ReadWrite || slices.ContainsFunc(layers[:i], func(above policy.Layer) bool {
			return above.Access == policy.ReadWrite && policy.Holds(above.Root.Path, l.Root.Path)
		})
		if inside || !layered {
			return true
		}
	}
	return false
}
