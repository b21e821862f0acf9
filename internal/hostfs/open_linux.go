package hostfs

import "golang.org/x/sys/unix"

// openPath opens a directory without asking for the right to read it.
const openPath = unix.O_PATH

// OpenPlain opens a file with no symlink anywhere in its path, so that what is
// opened is what the path says. The descriptor is closed at exec.
func OpenPlain(path string, flags int, mode uint32) (int, error) {
	flags |= unix.O_CLOEXEC
	if flags&unix.O_PATH == 0 { // with O_PATH openat2 refuses what has no effect
		flags |= unix.O_NOCTTY | unix.O_NONBLOCK
	}
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: uint64(flags), Mode: uint64(mode),
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}
