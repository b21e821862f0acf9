//go:build linux || darwin

package main

import (
	"errors"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/profile"
)

// guards reports whether the policy denies both of letta-code's trees, which is
// what its sentinel says.
func (in *inputs) guards() bool { return in.profile != nil && profile.Letta(in.profile.Name) }

// alreadyConfined reports whether the run may go on without another layer. The
// sentinel only makes the launcher look: what counts is that the kernel refuses,
// here and now, whatever the policy denies. A policy that restricts writes is
// never found in force, because it speaks of places without number, and neither is a
// readonly directory that is not the profile's own.
func (in *inputs) alreadyConfined() bool {
	if in.sentinel == "" || !in.guards() || in.resolved.Default() != policy.ReadWrite || couldLeave() {
		return false
	}
	for _, root := range in.resolved.Roots() {
		switch root.Access() {
		case policy.None:
			if !in.unreadable(root.Path) || !unwritable(root) {
				return false
			}
		case policy.Read:
			if !unwritable(root) || root.Kind == policy.Dir && !slices.Contains(in.profile.Policy.ReadOnly, in.shows(root)) {
				return false
			}
		}
	}
	return true
}

// unwrapped executes the command in the confinement that the launcher runs in, and
// leaves what says so in its environment.
func (in *inputs) unwrapped(rep *report) (int, error) {
	in.warn("the launcher is confined already: every denied root is out of its reach, and the command runs without another layer")
	if err := in.make(); err != nil {
		return 0, err
	}
	if err := rep.unconfined("already-confined"); err != nil {
		return 0, err
	}
	if err := launch.CloseOnExec(in.opts.keepFDs); err != nil {
		return 0, err
	}
	in.log.on("", "none", "already-confined")
	env := launch.Setenv(in.env, sentinel, in.sentinel)
	if err := in.log.leaves(in.opts.args, env); err != nil {
		return 0, err
	}
	return 0, launch.Exec(in.opts.args, env)
}

// unreadable reports whether nothing below a denied root can be read but what the
// policy carves out. A directory that can be listed is a mask where it holds only
// the names that lead to carve-outs.
func (in *inputs) unreadable(path string) bool {
	dir, err := os.OpenFile(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return refused(err, path, 0o400) && (errors.Is(err, unix.ENOENT) || in.unlisted(path))
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false // a file, which can be read
	}
	for _, name := range names {
		below := path + "/" + name
		if !in.carved(below) {
			return false
		}
		if in.resolved.Decide(below).Access == policy.None && !in.unreadable(below) {
			return false
		}
	}
	return true
}

// unlisted reports whether a denied root that cannot be listed is one in which the
// sandbox uncovers no more than the policy does. Landlock grants what is carved out
// and keeps its names to itself: another agent's sandbox refuses the same trees. So
// what is the agent's own must be there to write, as another's is not, and what
// somebody listed is doubtful. Nobody carves out of what is denied implicitly.
func (in *inputs) unlisted(path string) bool {
	for _, root := range in.resolved.Roots() {
		if root.Path != path {
			continue
		}
		given := in.shows(root)
		return root.Kind != policy.Dir || in.implicit(given) != "" || slices.Contains(in.profile.Trees, given) && in.ownWritable()
	}
	return false
}

// shows is how the root was given that another one shows, or that root itself.
func (in *inputs) shows(root policy.Root) string {
	original, ok := in.aliasOf[root.Path]
	if !ok {
		return root.Given
	}
	for _, r := range in.resolved.Roots() {
		if r.Path == original {
			return r.Given
		}
	}
	return original
}

// ownWritable reports whether all can be written that is there of the agent's own.
func (in *inputs) ownWritable() bool {
	found := false
	for _, root := range in.resolved.Roots() {
		if root.Kind != policy.Dir || !slices.Contains(in.profile.Policy.Writable, root.Given) {
			continue
		}
		if unwritable(root) {
			return false
		}
		found = true
	}
	return found
}

// carved reports whether path is a carve-out or leads to one.
func (in *inputs) carved(path string) bool {
	for _, root := range in.resolved.Roots() {
		if root.Access() != policy.None && policy.Holds(path, root.Path) {
			return true
		}
	}
	return false
}

// unwritable reports whether the kernel refuses to change what is at a root. Where
// it does not, what was made is undone at once.
func unwritable(root policy.Root) bool {
	switch root.Kind {
	case policy.Dir, policy.Missing:
		name := root.Existing + "/.letta-confine-" + strconv.Itoa(os.Getpid())
		err := unix.Mkdir(name, 0o700)
		if err == nil {
			unix.Rmdir(name)
			return false
		}
		return refused(err, root.Existing, 0o300)
	}
	fd, err := unix.Open(root.Path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		return false
	}
	return refused(err, root.Path, 0o200)
}

// refused reports whether err shows that a sandbox keeps the caller from the file.
// EACCES does so only where the caller owns the file and its mode allows what was
// tried: else it is the mode that refuses, and the owner, or an earlier run, can
// change that.
func refused(err error, path string, bits uint32) bool {
	errno, ok := errnoOf(err)
	if !ok {
		return false
	}
	switch errno {
	case unix.ENOENT, unix.EROFS, unix.EPERM:
		return true
	case unix.EACCES:
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil {
			return false
		}
		uid := uint32(unix.Geteuid())
		return (uid == 0 || uid == st.Uid) && uint32(st.Mode)&bits == bits
	}
	return false
}

func errnoOf(err error) (unix.Errno, bool) {
	if e, ok := err.(*os.PathError); ok {
		err = e.Err
	}
	errno, ok := err.(unix.Errno)
	return errno, ok
}
