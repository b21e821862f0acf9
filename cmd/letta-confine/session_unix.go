//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/sessionlog"
)

const sessionFlag = "--session-log"

// readSession learns what the session has settled. A log that is not there has
// settled nothing; one that cannot be read is an error.
func (in *inputs) readSession() error {
	if in.opts.sessionLog == "" {
		return nil
	}
	fd, shared, err := in.openSession(unix.O_RDONLY)
	if err == unix.ENOENT {
		return nil
	}
	if err == nil {
		in.session, err = (&sessionlog.Log{FD: fd}).Read()
		if !shared {
			unix.Close(fd)
		}
	}
	return in.sessionError(err)
}

// keepSession opens the log for what this run adds, once it is known that the
// command cannot write it, and gives questions of dead runs their outcome.
func (in *inputs) keepSession() error {
	if in.opts.sessionLog == "" {
		return nil
	}
	if err := in.outOfReach(sessionFlag, in.opts.sessionLog); err != nil {
		return err
	}
	if in.mode == danger {
		if err := in.outOfWorkspace(); err != nil {
			return err
		}
	}
	fd, _, err := in.openSession(unix.O_RDWR | unix.O_APPEND | unix.O_CREAT)
	if err != nil {
		return in.sessionError(err)
	}
	in.kept = &sessionlog.Log{FD: fd}
	return in.sessionError(in.kept.Settle())
}

// outOfWorkspace refuses a log that a run in the mode workspace-write could have
// written, in a run that nothing keeps from it: what says that may be forged.
func (in *inputs) outOfWorkspace() error {
	narrow := *in
	narrow.implied = nil
	var p policy.Policy
	if narrow.workspace(&p) != nil {
		return nil // there is no such run from here
	}
	var err error
	if narrow.resolved, err = in.resolveOf(p); err != nil {
		return err
	}
	return narrow.outOfReach(sessionFlag, in.opts.sessionLog)
}

// openSession opens the log. A file is refused where it is none of the caller's
// own: whoever writes it chooses the mode.
func (in *inputs) openSession(flags int) (fd int, shared bool, err error) {
	where, path := in.opts.sessionLog, ""
	if fd, shared, err = in.handed(where); shared {
		if err == nil && flags&unix.O_APPEND != 0 {
			flags, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
			if err == nil && flags&unix.O_APPEND == 0 {
				err = withHint(errors.New("not open for appending"), "open it for reading and appending (O_RDWR, O_APPEND)")
			}
		}
	} else {
		mode := uint32(0o600)
		if flags&unix.O_CREAT == 0 {
			mode = 0 // openat2(2) takes none that has no effect
		}
		fd, err = hostfs.OpenPlain(where, flags, mode)
		path = absolute(where) // no link is in it
	}
	if err != nil {
		return -1, shared, err
	}
	if err = in.ownSession(fd, path); err != nil && !shared {
		unix.Close(fd)
	}
	return fd, shared, err
}

// ownSession adds it to the files of the launcher's, so that no other output goes
// there; path is "" for a descriptor.
func (in *inputs) ownSession(fd int, path string) error {
	st, err := regular(fd)
	switch {
	case err != nil:
		return err
	case st.Mode&0o022 != 0:
		return withHint(errors.New("other users can write it"), "chmod go-w")
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return errors.New("it is another user's")
	}
	id := policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}
	for _, f := range in.files {
		if f.id == id && f.flag != sessionFlag {
			return fmt.Errorf("it is what %s reads", f.flag)
		}
	}
	if path != "" && !slices.ContainsFunc(in.files, func(f inputFile) bool { return f.flag == sessionFlag }) {
		in.files = append(in.files, inputFile{sessionFlag, in.opts.sessionLog, path, id})
	}
	return nil
}

// sessionError says which file an error is about.
func (in *inputs) sessionError(err error) error {
	if err == nil {
		return nil
	}
	hint := hintOf(err)
	if err == unix.ELOOP {
		err, hint = errors.New("there is a symlink in its path"), "write the real path"
	}
	err = fmt.Errorf("%s %q: %w", sessionFlag, in.opts.sessionLog, err)
	if hint != "" {
		return withHint(err, hint)
	}
	return err
}
