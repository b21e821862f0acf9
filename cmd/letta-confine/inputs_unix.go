//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/profile"
	"github.com/letta-confine/letta-confine/sessionlog"
)

// manyRoots is from where on a start makes so much that a collection would come in
// between, with threads of its own, and all of it is in use until the command runs.
const manyRoots = 200

// maxPolicy bounds a policy file; a thousand roots of the longest path fit.
const maxPolicy = 16 << 20

// inputs is all that a run depends on.
type inputs struct {
	opts     *options
	env      []string // of the command
	cwd      string   // where the command starts, canonical
	cwdID    policy.ID
	came     string        // --chdir as it was written, and absolute; or ""
	policy   policy.Policy // all sources together
	resolved policy.Resolved

	implied    []string    // roots that the caller did not list
	files      []inputFile // policy files, which the command must not change
	unresolved bool        // there is no policy: reading or resolving it failed
	once       [][2]string // policies that were not files: what --policy said, and the text
	asked      []string    // variables that the policy was made from

	written []inputFile // what the launcher writes itself
	log     *audit      // --audit-log
	verdict string      // what is known of denials, once the command has ended

	aliasOf map[string]string // roots that were added because they show another root
	limits  []string          // what could not be learned about this host

	parent int // pidfd of the process whose end ends the command, or -1

	again []inner.Reopen // standard descriptors to open again inside the sandbox

	makes []making // directories that are made before the command starts

	granted []repository // of --git-worktree
	openGit bool         // a commondir can be made in a repository, but with Landlock

	secrets []secret // of --credential
	hidden  []hidden // denied roots that every confined run has

	private []string // denied roots in whose place the command has a directory of its own
	folder  string   // that directory where the backend cannot mount

	profile  *profile.Profile // nil without one, and where its switch is off
	sentinel string           // LETTA_SANDBOX as it was found, or ""
	printed  policy.Policy    // what --print-policy prints
	reason   string           // why less is confined than was asked for, or ""
	warning  string           // the same for people
	notes    []string         // warnings that wait for a run
	about    about            // of the report

	given   policy.Policy    // what files and flags say, without the mode
	mode    string           // that is in force, or ""
	session sessionlog.State // of --session-log
	kept    *sessionlog.Log  // likewise, where the run adds to it
}

// making is a directory that the launcher makes before the command starts.
type making struct {
	flag, path string // path is canonical
	mode       uint32
	hint       string
}

// inputFile is a file that the launcher read.
type inputFile struct {
	flag, given string
	path        string // canonical
	id          policy.ID
}

// gather reads and resolves everything, and refuses what contradicts itself.
// Nothing has been created or changed when it fails.
func gather(o *options) (*inputs, error) {
	in, err := collect(o)
	if err != nil {
		return nil, err
	}
	return in, in.check()
}

// collect is gather without the checks that only a command to run needs. It is how
// flags become a policy, for a run and for check.
func collect(o *options) (*inputs, error) {
	in := &inputs{opts: o, env: os.Environ(), aliasOf: make(map[string]string), parent: -1}
	if err := in.directory(); err != nil {
		return nil, err
	}
	for _, source := range o.policies {
		q, err := in.read(source)
		if err != nil {
			return nil, err
		}
		in.given.Merge(q)
	}
	in.given.Merge(o.listed)
	if err := in.readSession(); err != nil {
		return nil, err
	}
	return in, in.compose()
}

// compose makes the policy out of what was given and what the flags imply.
func (in *inputs) compose() error {
	p := &in.policy
	p.Merge(in.given)
	if n := len(p.BaseWritable) + len(p.Denied) + len(p.ReadOnly) + len(p.Writable); n > manyRoots {
		debug.SetGCPercent(800)
	}
	for _, part := range []func(*policy.Policy) error{in.modes, in.named, in.helpers, in.temporary, in.caches, in.privately, in.worktrees, in.guard} {
		if err := part(p); err != nil {
			return err
		}
	}
	in.printed = *p
	in.printed.Denied = slices.DeleteFunc(slices.Clone(p.Denied), func(path string) bool { return slices.Contains(in.private, path) })
	for _, step := range []func() error{in.resolve, in.credentials, in.hide, in.aliases, in.checkTemporary} {
		if err := step(); err != nil {
			return err
		}
	}
	in.environment()
	return nil
}

func (in *inputs) resolve() (err error) {
	in.resolved, err = in.resolveOf(in.policy)
	return err
}

// resolveOf is policy.Resolve with errors that speak of a root as the user wrote
// it: by its flag, where it came from one, and with its path once.
func (in *inputs) resolveOf(p policy.Policy) (policy.Resolved, error) {
	r, err := policy.Resolve(p, hostfs.FS{})
	if root, ok := errors.AsType[*policy.RootError](err); ok {
		root.Flag = in.byFlag(root.List, root.Path)
		if at, ok := errors.AsType[*fs.PathError](root.Err); ok && at.Path == root.Path {
			root.Err = at.Err
		}
	}
	return r, err
}

// byFlag reports whether the command line gave a root itself.
func (in *inputs) byFlag(l policy.List, given string) bool {
	return slices.Contains(in.opts.listed.Roots(l), given)
}

// called is how the user gave a root: --deny "/x", or deniedRoots "/x".
func (in *inputs) called(root policy.Root) string {
	name := root.List.String()
	if in.byFlag(root.List, root.Given) {
		name = root.List.Flag()
	}
	return fmt.Sprintf("%s %q", name, root.Given)
}

// create makes the directories that the caller asked for, and those that a
// backend needs, and resolves the policy again. It returns what it made on behalf
// of missing denied and readonly roots.
func (in *inputs) create(needed []policy.Root) (made []string, err error) {
	if !in.creates() && len(needed) == 0 {
		return nil, nil // and what was resolved stands
	}
	if err := in.make(); err != nil {
		return nil, err
	}
	if in.opts.createWritable {
		for _, root := range in.resolved.Roots() {
			if root.Kind != policy.Missing || root.Access() != policy.ReadWrite || root.NotDir {
				continue
			}
			if _, err := hostfs.Mkdir(root.Path, 0o777); err != nil {
				return nil, fmt.Errorf("--create-writable: %s: %w", in.called(root), err)
			}
		}
	}
	for _, root := range needed {
		dirs, err := hostfs.Mkdir(root.Path, 0o755)
		made = append(made, dirs...)
		if err != nil {
			return made, withHint(fmt.Errorf("%s is not there, and cannot be made: %w", in.called(root), bare(err)),
				"create it first, or leave it out")
		}
	}
	return made, in.resolve()
}

// make makes the directories that the command's variables name, or that a profile
// needs.
func (in *inputs) make() error {
	for _, m := range in.makes {
		if _, err := hostfs.Mkdir(m.path, m.mode); err != nil {
			return withHint(fmt.Errorf("%s: %w", m.flag, err), m.hint)
		}
	}
	return nil
}

// creates reports whether create makes anything that the caller asked for, so that
// what was resolved does not stand.
func (in *inputs) creates() bool { return len(in.makes) > 0 || in.opts.createWritable }

// directory finds the physical working directory of the command.
func (in *inputs) directory() error {
	if dir := in.opts.chdir; dir != "" {
		in.came = absolute(dir)
		if err := unix.Chdir(dir); err != nil {
			return fmt.Errorf("--chdir %q: %w", dir, err)
		}
		in.env = launch.Unsetenv(in.env, "PWD")
	}
	var err error
	if in.cwd, err = getcwd(); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(".", &st); err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	in.cwdID = policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}
	return nil
}

// read reads one --policy.
func (in *inputs) read(source string) (policy.Policy, error) {
	text, err := in.readText(source)
	if err == nil {
		if readOnce(source) {
			in.once = append(in.once, [2]string{source, string(text)})
		}
		var p policy.Policy
		if p, err = policy.Parse(text); err == nil {
			return p, nil
		}
	}
	if hint := hintOf(err); hint != "" {
		return policy.Policy{}, withHint(fmt.Errorf("policy %q: %w", source, err), hint)
	}
	return policy.Policy{}, fmt.Errorf("policy %q: %w", source, err)
}

func (in *inputs) readText(source string) ([]byte, error) {
	if text, ok := in.opts.recorded[source]; ok {
		return []byte(text), nil
	}
	if source == "-" {
		text, err := launch.ReadAll(0, maxPolicy)
		if err != nil {
			return nil, err
		}
		null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("/dev/null: %w", err)
		}
		defer unix.Close(null)
		return text, replaceStdin(null)
	}
	if fd, ok, err := descriptor(source); ok {
		if err != nil {
			return nil, err
		}
		defer unix.Close(fd)
		return launch.ReadAll(fd, maxPolicy)
	}
	text, file, err := readInput("--policy", source)
	if err == nil {
		in.files = append(in.files, file)
	}
	return text, err
}

// readInput reads a file of the launcher's own, which is regular and reached through
// no symlink.
func readInput(flag, source string) ([]byte, inputFile, error) {
	fd, err := hostfs.OpenPlain(source, unix.O_RDONLY, 0)
	if err == unix.ELOOP {
		return nil, inputFile{}, withHint(errors.New("there is a symlink in its path"), "write the real path, or pass it as an open descriptor: "+flag+" fd:N")
	}
	if err != nil {
		return nil, inputFile{}, err
	}
	defer unix.Close(fd)
	st, err := regular(fd)
	if err == errNotRegular {
		err = withHint(err, "pass it as an open descriptor: "+flag+" fd:N")
	}
	if err != nil {
		return nil, inputFile{}, err
	}
	path, err := policy.Canonical(absolute(source), hostfs.FS{})
	if err != nil {
		return nil, inputFile{}, err
	}
	text, err := launch.ReadAll(fd, maxPolicy)
	return text, inputFile{flag, source, path, policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}}, err
}

var errNotRegular = errors.New("not a regular file")

// regular is what fstat(2) says of an open file, and errNotRegular where it is none.
func regular(fd int) (st unix.Stat_t, err error) {
	if err = unix.Fstat(fd, &st); err == nil && hostfs.KindOf(uint32(st.Mode)) != policy.File {
		err = errNotRegular
	}
	return st, err
}

// readOnce reports whether what --policy names is no file: it cannot be read again.
func readOnce(source string) bool {
	_, ok, _ := descriptor(source)
	return ok || source == "-"
}

// descriptor reads "fd:N". ok is whether s has that form at all.
func descriptor(s string) (fd int, ok bool, err error) {
	digits, ok := strings.CutPrefix(s, "fd:")
	if !ok {
		return 0, false, nil
	}
	fd, err = strconv.Atoi(digits)
	if err != nil || fd < 3 {
		return 0, true, errors.New("want fd:N with N above 2")
	}
	return fd, true, nil
}

// absolute makes the path of a file of the launcher's own absolute, without
// looking at links; the kernel refuses those.
func absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	dir, err := getcwd()
	if err != nil {
		return path
	}
	return dir + "/" + path
}

// canonicalOr is policy.Canonical where failing must not end the run.
func canonicalOr(path string) string {
	if c, err := policy.Canonical(path, hostfs.FS{}); err == nil {
		return c
	}
	return path
}

func readFile(path string, limit int) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0) // a fifo must not hold it up
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return launch.ReadAll(fd, limit)
}
