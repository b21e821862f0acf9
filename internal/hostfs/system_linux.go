package hostfs

import "golang.org/x/sys/unix"

// openPath opens a directory without asking for the right to read it.
const openPath = unix.O_PATH

// OpenPlain opens a file with no symlink anywhere in its path, so that what is
// opened is what the path says. The descriptor is closed at exec.
func OpenPlain(path string, flags int, mode uint32) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NONBLOCK), Mode: uint64(mode),
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}
