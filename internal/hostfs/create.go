//go:build unix

package hostfs

import (
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// Mkdir makes the directory of a canonical path, and those above it that are
// missing, with the given mode. It follows no symlink, so a link that was planted
// in the meantime cannot make it create anything elsewhere. It returns the paths
// that it made, the topmost first, also when it fails half way.
func Mkdir(path string, mode uint32) (made []string, err error) {
	dir, err := unix.Open("/", unix.O_DIRECTORY|unix.O_CLOEXEC|openPath, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	defer func() { unix.Close(dir) }()
	at := ""
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" {
			continue
		}
		at += "/" + name
		err := unix.Mkdirat(dir, name, mode)
		if err == nil {
			made = append(made, at)
		}
		next, openErr := unix.Openat(dir, name, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|openPath, 0)
		if openErr != nil {
			if err == nil || err == unix.EEXIST {
				err = openErr
			}
			return made, &fs.PathError{Op: "mkdir", Path: at, Err: err}
		}
		unix.Close(dir)
		dir = next
	}
	return made, nil
}
