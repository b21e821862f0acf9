//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// openOutput opens a file that the launcher writes while the command runs, or takes
// the descriptor fd:N. A file must be regular, reached through no symlink, and out
// of the command's reach: else a link that an earlier run planted would make the
// unconfined launcher write elsewhere. It is emptied, unless more is O_APPEND.
func (in *inputs) openOutput(flag, where string, more int) (int, error) {
	if fd, ok, err := in.handed(where); ok {
		if err != nil {
			return -1, fmt.Errorf("%s %q: %w", flag, where, err)
		}
		return fd, nil
	}
	if err := in.outOfReach(flag, where); err != nil {
		return -1, err
	}
	fd, err := hostfs.OpenPlain(where, unix.O_WRONLY|unix.O_CREAT|more, 0o600)
	if err != nil {
		return -1, fmt.Errorf("%s %q: %w", flag, where, err)
	}
	if err = in.plainOutput(fd, flag, where); err == nil && more&unix.O_APPEND == 0 {
		err = unix.Ftruncate(fd, 0)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("%s %q: %w", flag, where, err)
	}
	return fd, nil
}

// handed takes a descriptor fd:N for the launcher alone. ok is whether where has that
// form at all.
func (in *inputs) handed(where string) (fd int, ok bool, err error) {
	fd, ok, err = descriptor(where)
	switch {
	case !ok || err != nil:
	case slices.Contains(in.opts.keepFDs, fd):
		err = withHint(errors.New("the command keeps that descriptor"), "let the command have another, or none")
	default:
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
	}
	return fd, ok, err
}

// outOfReach refuses a file of the launcher's that the command could write.
func (in *inputs) outOfReach(flag, where string) error {
	if _, shared, _ := descriptor(where); shared || where == "" {
		return nil
	}
	dir, err := policy.Canonical(absolute(filepath.Dir(where)), hostfs.FS{})
	if err != nil {
		return fmt.Errorf("%s %q: %w", flag, where, err)
	}
	if in.canChange(filepath.Join(dir, filepath.Base(where))) {
		return withHint(fmt.Errorf("%s %q can be changed by the command", flag, where),
			"keep it elsewhere, or pass an open descriptor: "+flag+" fd:N")
	}
	return nil
}

// canChange reports whether the policy, where it is known and restricts anything, lets
// the command change what is at a canonical path.
func (in *inputs) canChange(path string) bool {
	return !in.unresolved && in.resolved.Restricts() && in.resolved.Decide(path).Access == policy.ReadWrite
}

// plainOutput refuses an open file that is none to write to, or that the launcher
// uses for something else.
func (in *inputs) plainOutput(fd int, flag, given string) error {
	st, err := regular(fd)
	if err != nil {
		return err
	}
	id := policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}
	for _, f := range append(slices.Clone(in.files), in.written...) {
		if f.id == id {
			return fmt.Errorf("it is what %s %q names", f.flag, f.given)
		}
	}
	in.written = append(in.written, inputFile{flag: flag, given: given, id: id})
	return nil
}
