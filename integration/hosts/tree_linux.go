package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// file is one file of a tree: a directory, a regular file, a symlink whose data
// is its target, or a device.
type file struct {
	path string // without a leading slash
	mode uint32 // as stat gives it
	data []byte
	dev  uint32 // of a device
}

const (
	modeDir     = unix.S_IFDIR
	modeRegular = unix.S_IFREG
	modeLink    = unix.S_IFLNK
	modeChar    = unix.S_IFCHR
)

// libraries are the packages that bubblewrap needs beside its own, in every
// release.
var libraries = []string{"libc6", "libcap2", "libselinux1", "libpcre2-8-0"}

// tree returns a root with the bubblewrap of a release, the given launcher and
// this program, and nothing else: about four megabytes.
func (e *env) tree(s *suite, launcher, self string) ([]file, error) {
	tree := []file{
		{path: "tmp", mode: modeDir | 0o1777},
		{path: "bin", mode: modeLink | 0o777, data: []byte("usr/bin")},
		{path: "lib", mode: modeLink | 0o777, data: []byte("usr/lib")},
		{path: "lib64", mode: modeLink | 0o777, data: []byte("usr/lib64")},
	}
	for _, dir := range []string{"dev", "proc", "sys", "usr", "usr/bin", "usr/lib", "usr/lib64"} {
		tree = append(tree, file{path: dir, mode: modeDir | 0o755})
	}
	for name, from := range map[string]string{"letta-confine": launcher, "hosts": self} {
		data, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		tree = append(tree, file{path: "usr/bin/" + name, mode: modeRegular | 0o755, data: data})
	}
	made := map[string]bool{}
	for _, name := range append([]string{"bubblewrap"}, libraries...) {
		deb, err := e.deb(s, name)
		if err != nil {
			return nil, err
		}
		files, err := e.unpack(deb, needed)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			f.path = "usr/" + strings.TrimPrefix(f.path, "usr/") // older releases are not merged
			if dir := path.Dir(f.path); strings.Count(dir, "/") == 2 && !made[dir] {
				made[dir] = true
				tree = append(tree, file{path: dir, mode: modeDir | 0o755})
			}
			tree = append(tree, f)
		}
	}
	return tree, nil
}

// needed reports whether a file of a package is a program or a library itself.
func needed(name string) bool {
	name = strings.TrimPrefix(name, "usr/")
	dir := path.Dir(name)
	library := strings.Contains(path.Base(name), ".so") && (dir == "lib" || dir == "lib64" || path.Dir(dir) == "lib")
	return name == "bin/bwrap" || library
}

// write makes the tree below a directory. Its files belong to the caller.
func write(dir string, tree []file) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range tree {
		at := filepath.Join(dir, f.path)
		var err error
		switch f.mode & unix.S_IFMT {
		case modeDir:
			if err = os.Mkdir(at, 0o755); err == nil {
				err = unix.Chmod(at, f.mode&0o7777)
			}
		case modeLink:
			err = os.Symlink(string(f.data), at)
		default:
			syscall.ForkLock.RLock() // a child that inherits it open keeps it from being executed
			err = os.WriteFile(at, f.data, 0o755)
			syscall.ForkLock.RUnlock()
			if err == nil {
				err = unix.Chmod(at, f.mode&0o7777)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cpio returns the tree as an initial ramdisk (Documentation/driver-api/early-userspace/buffer-format.rst).
// Everything belongs to root.
func cpio(tree []file) []byte {
	var b bytes.Buffer
	pad := func() {
		for b.Len()%4 != 0 {
			b.WriteByte(0)
		}
	}
	for i, f := range append(tree, file{path: "TRAILER!!!"}) {
		fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
			i+1, f.mode, 0, 0, 1, 0, len(f.data), 0, 0, unix.Major(uint64(f.dev)), unix.Minor(uint64(f.dev)), len(f.path)+1, 0)
		b.WriteString(f.path)
		b.WriteByte(0)
		pad()
		b.Write(f.data)
		pad()
	}
	return b.Bytes()
}
