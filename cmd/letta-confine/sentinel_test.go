//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// EACCES shows nothing where the owner can give itself the missing bits: an earlier
// run could have taken them away.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		mode os.FileMode
		bits uint32
		err  error
		want bool
	}{
		{0o700, 0o300, unix.EACCES, true}, // something beside the mode refused
		{0o500, 0o300, unix.EACCES, false},
		{0o000, 0o400, unix.EACCES, false},
		{0o077, 0o400, &os.PathError{Op: "open", Path: dir, Err: unix.EACCES}, false},
		{0o700, 0o300, unix.EROFS, true},
		{0o000, 0o300, unix.EROFS, true},
		{0o700, 0o300, unix.EPERM, true},
		{0o700, 0o400, &os.PathError{Op: "open", Path: dir, Err: unix.ENOENT}, true},
		{0o700, 0o300, unix.EEXIST, false},
		{0o700, 0o300, unix.ENOSPC, false},
		{0o700, 0o300, unix.EMFILE, false},
		{0o700, 0o300, errors.New("other"), false},
	} {
		path := filepath.Join(dir, "d")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if got := refused(c.err, path, c.bits); got != c.want {
			t.Errorf("refused(%v) with mode %v = %v, want %v", c.err, c.mode, got, c.want)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if refused(unix.EACCES, filepath.Join(dir, "gone"), 0o400) {
		t.Error("refused(EACCES) of a path that cannot be looked at = true, want false")
	}
}
