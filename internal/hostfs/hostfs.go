//go:build unix

// Package hostfs is the real file system as policy.Resolve asks for it.
//
// It speaks to the kernel directly, because the walk in package policy needs
// neither the allocations nor the retries of package os: resolving a root costs
// one lstat for each component that no other root shares.
//
// # Limits
//
// What it reports can change at once. Callers that go on to use a path must
// check that it still leads to the same ID.
package hostfs

import (
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/policy"
)

// FS is the file system of this host. The zero value is ready to use.
type FS struct{}

// Lstat implements policy.FS.
func (FS) Lstat(name string) (policy.Info, error) {
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return policy.Info{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return spelled(name, &st, policy.Info{Kind: KindOf(uint32(st.Mode)), ID: policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}}), nil
}

// KindOf translates the file type bits of a stat(2) mode.
func KindOf(mode uint32) policy.Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return policy.Dir
	case unix.S_IFREG:
		return policy.File
	case unix.S_IFCHR, unix.S_IFBLK:
		return policy.Device
	case unix.S_IFLNK:
		return policy.Symlink
	}
	return policy.Other
}

// Readlink implements policy.FS.
func (FS) Readlink(name string) (string, error) {
	if target := firmlink(name); target != "" {
		return target, nil
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink(name, buf)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return string(buf[:n]), nil
}

// Replaceable implements policy.FS. The owner counts, because an owner can give
// itself the missing mode; so does uid 0, whose capabilities the mode does not
// bind. Where nothing can be learned the answer is true, which only refuses more.
func (FS) Replaceable(dir string) bool {
	var st unix.Stat_t
	return unix.Stat(dir, &st) != nil || writable(dir, &st, uint32(unix.Geteuid()))
}

// writable reports whether uid can get to write what lies at a path, of which st is
// what is known.
func writable(path string, st *unix.Stat_t, uid uint32) bool {
	return uid == 0 || st.Uid == uid || unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS) == nil
}

// CanReplace reports whether the caller's own rights suffice to change a file, or
// to put another in its place by way of a directory above it. Unlike Replaceable,
// which answers for any entry of a directory, it knows that in a sticky one, such
// as /tmp, an entry belongs to its owner (unlink(2)).
func CanReplace(path string) bool {
	uid := uint32(unix.Geteuid())
	var child unix.Stat_t
	if unix.Lstat(path, &child) != nil || writable(path, &child, uid) {
		return true
	}
	for _, dir := range policy.Ancestors(path) {
		var st unix.Stat_t
		if unix.Stat(dir, &st) != nil {
			return true
		}
		if writable(dir, &st, uid) && (st.Mode&unix.S_ISVTX == 0 || st.Uid == uid || child.Uid == uid) {
			return true
		}
		child = st
	}
	return false
}
