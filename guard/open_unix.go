//go:build linux || darwin

package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/verdict"
)

// ErrPolicy is in every error by which a policy refuses a file. The kernel's own
// refusal is an [*fs.PathError] with an errno, and without ErrPolicy.
var ErrPolicy = errors.New("refused by policy")

// RefusedError says what a policy refused, and why.
type RefusedError struct{ Judged }

func (e *RefusedError) Error() string { return e.Reason }
func (e *RefusedError) Unwrap() error { return ErrPolicy }

// OpenFile opens the file that it judged, with the flags of [os.OpenFile]. The name
// is literal: nothing in it is expanded.
//
// What is opened is the canonical path of the moment before, with no link in it
// (openat2(2), RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS; O_NOFOLLOW_ANY on
// macOS): a link that is planted in between makes it fail with ELOOP, and leads
// nowhere. Where the system has no such call it fails. Device nodes, fifos and
// sockets are refused.
func (g *Guard) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	t := target{given: name, spellings: []string{""}, access: policy.Read}
	if name != "" {
		t.spellings[0] = absolute(cwd, name)
	}
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND) != 0 {
		t.access = policy.ReadWrite
	}
	j := g.judge(t)
	switch {
	case j.Code == KernelDenied:
		return nil, &fs.PathError{Op: "open", Path: name, Err: unix.EACCES}
	case j.Decision != verdict.Allow:
		return nil, &RefusedError{j}
	}
	fd, err := hostfs.OpenPlain(j.Resolved, flag, uint32(perm.Perm()))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	file := os.NewFile(uintptr(fd), j.Resolved)
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fmt.Errorf("open %q: neither a regular file nor a directory", name)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
