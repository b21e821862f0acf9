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
	if fd, ok, err := descriptor(where); ok {
		if err != nil {
			return -1, fmt.Errorf("%s %q: %w", flag, where, err)
		}
		if slices.Contains(in.opts.keepFDs, fd) {
			return -1, withHint(fmt.Errorf("%s %q is a descriptor that the command keeps", flag, where), "let the command have another, or none")
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return -1, fmt.Errorf("%s %q: %w", flag, where, err)
		}
		return fd, nil
	}
	dir, err := policy.Canonical(absolute(filepath.Dir(where)), hostfs.FS{})
	if err != nil {
		return -1, fmt.Errorf("%s %q: %w", flag, where, err)
	}
	path := filepath.Join(dir, filepath.Base(where))
	if !in.unresolved && in.resolved.Restricts() && in.resolved.Decide(path).Access == policy.ReadWrite {
		return -1, withHint(fmt.Errorf("%s %q can be changed by the command", flag, where),
			"write it elsewhere, or pass an open descriptor: "+flag+" fd:N")
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

// plainOutput refuses an open file that is none to write to, or that the launcher
// uses for something else.
func (in *inputs) plainOutput(fd int, flag, given string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if hostfs.KindOf(uint32(st.Mode)) != policy.File {
		return errors.New("not a regular file")
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
