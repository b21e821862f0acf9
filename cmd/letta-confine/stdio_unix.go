//go:build linux || darwin

package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/policy"
)

var stdNames = [...]string{"standard input", "standard output", "standard error"}

// checkStdio looks at the three descriptors that the command inherits. An open
// descriptor reads through any mask, and belongs to the mount that it was opened
// on: a directory leads to all beneath it, and a file that was opened for reading
// can be opened again for writing through /proc/self/fd.
//
// It refuses directories, O_PATH descriptors and files that the policy denies.
// It returns those that have to be opened again inside the sandbox: regular files
// that were opened for reading and that the policy does not let the command
// write. What was opened for writing the caller meant to be written.
func (in *inputs) checkStdio() ([]inner.Reopen, error) {
	var again []inner.Reopen
	for fd, name := range stdNames {
		var st unix.Stat_t
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err == nil {
			err = unix.Fstat(fd, &st)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		kind := hostfs.KindOf(uint32(st.Mode))
		switch {
		case flags&oPath != 0:
			return nil, withHint(fmt.Errorf("%s was opened with O_PATH, and the command could open it in earnest", name), "redirect it to a file, a pipe or /dev/null")
		case kind == policy.Dir:
			return nil, withHint(fmt.Errorf("%s is a directory, and all of it could be reached through it", name), "redirect it to a file, a pipe or /dev/null")
		case kind != policy.File || st.Nlink == 0:
			continue // no path leads to it, or its path says nothing of its contents
		}
		path, err := hostfs.PathOf(fd)
		if err != nil {
			return nil, fmt.Errorf("%s: which file it is cannot be learned: %w", name, err)
		}
		switch d := in.resolved.Decide(path); {
		case in.hides(d) && (in.resolved.Default() == policy.ReadWrite || flags&unix.O_ACCMODE != unix.O_RDONLY):
			// The host's file is no secret there, and the caller meant to give it.
		case in.hides(d):
			return nil, withHint(fmt.Errorf("%s is the file %q: %w, and it could be opened again for writing", name, path, errPrivate), "redirect it from a pipe, or from a file elsewhere")
		case d.Access == policy.None:
			return nil, withHint(fmt.Errorf("%s is the file %q inside denied root %q", name, path, d.Root.Path), "redirect it elsewhere")
		case d.Access == policy.Read && flags&unix.O_ACCMODE == unix.O_RDONLY:
			again = append(again, inner.Reopen{
				FD: fd, Path: path, Flags: flags, ID: policy.ID{Dev: uint64(st.Dev), Ino: st.Ino},
			})
		}
	}
	return again, nil
}
