//go:build linux || darwin

package main

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
)

// check refuses a run that contradicts itself: better an error than a command
// that starts in a place it cannot see, or whose policy it can rewrite.
func (in *inputs) check() error {
	if d := in.resolved.Decide(in.cwd); in.hides(d) {
		return withHint(fmt.Errorf("working directory %q: %w", in.cwd, errPrivate), "make it a root of the policy, or pass --chdir DIR")
	} else if d.Access == policy.None {
		err := fmt.Errorf("working directory %q is inside denied root %q", in.cwd, d.Root.Path)
		if d.Root.Path == in.cwd {
			err = fmt.Errorf("working directory %q is a denied root", in.cwd)
		}
		return withHint(err, "start from a directory the policy lets the command read, or pass --chdir DIR")
	}
	for _, l := range in.resolved.Restrictions() {
		if root := l.Root; in.opts.missingDenied == "refuse" && root.Kind == policy.Missing && root.Creatable {
			return withHint(fmt.Errorf("%s is not there", in.called(*root)), "create it first, or pass --missing-denied create")
		}
	}
	for _, f := range in.files {
		if root := in.listedWritable(f.path); root != nil {
			return withHint(fmt.Errorf("%s %q can be changed by the command, being inside %s", f.flag, f.given, in.called(*root)),
				"keep it elsewhere, or pass it as an open descriptor: "+f.flag+" fd:N")
		}
	}
	for _, own := range ownPrograms() {
		if root := in.listedWritable(own); root != nil {
			return withHint(fmt.Errorf("the launcher %q can be changed by the command, being inside %s", own, in.called(*root)),
				"install the launcher outside what the policy makes writable")
		}
	}
	return nil
}

// listedWritable returns the base or writable root, among those that the caller
// listed, that makes a canonical path writable.
func (in *inputs) listedWritable(path string) *policy.Root {
	d := in.resolved.Decide(path)
	if d.Access != policy.ReadWrite || d.Root == nil || d.Root.Path == "/" || slices.Contains(in.implied, d.Root.Given) {
		return nil
	}
	return d.Root
}

// checkCommand refuses a command that a denied root hides, or whose interpreter
// one hides, before a backend's own errno has to be explained. A hidden place on
// the PATH is passed over, as the search inside the sandbox passes it over.
func (in *inputs) checkCommand(argv []string) error {
	if !in.denies() {
		return nil
	}
	var hidden error
	for _, file := range launch.Candidates(argv[0], in.env) {
		if hidden = in.checkVisible(argv[0], file); hidden == nil {
			if interp := launch.Interpreter(file); interp != "" {
				return in.checkVisible(argv[0], interp)
			}
			return nil
		}
	}
	return hidden // or nil: the command is not there, and its own start will say so
}

// noteRights adds a warning where the command is a program that would get the rights
// of another user or group without us, such as sudo.
func (in *inputs) noteRights() {
	if in.opts.quiet || !in.resolved.Restricts() {
		return
	}
	file, err := launch.LookPath(in.opts.args[0], in.env)
	if err != nil {
		return // the command's own start will say it
	}
	var st unix.Stat_t
	if unix.Stat(file, &st) != nil {
		return
	}
	user := st.Mode&unix.S_ISUID != 0 && int(st.Uid) != unix.Geteuid()
	group := st.Mode&unix.S_ISGID != 0 && st.Mode&0o010 != 0 && int(st.Gid) != unix.Getegid()
	if user || group {
		in.notes = append(in.notes, fmt.Sprintf("command %q: %s", in.opts.args[0], noRights))
	}
}

func (in *inputs) denies() bool {
	return slices.ContainsFunc(in.resolved.Restrictions(), func(l policy.Layer) bool { return l.Access == policy.None })
}

func (in *inputs) checkVisible(command, file string) error {
	path, err := policy.Canonical(absolute(file), hostfs.FS{})
	if err != nil {
		return nil // the command's own start will say it
	}
	d := in.resolved.Decide(path)
	if d.Access != policy.None {
		return nil
	}
	if in.hides(d) {
		return withHint(fmt.Errorf("command %q needs %q: %w", command, path, errPrivate), "make it a readonly root")
	}
	return withHint(fmt.Errorf("command %q needs %q, which denied root %q hides", command, path, d.Root.Path),
		"carve it out with a readonly root, or run a program outside the denied root")
}
