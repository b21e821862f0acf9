package hostfs

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/policy"
)

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

// PathOf returns the path of an open file, as the kernel knows it now.
func PathOf(fd int) (string, error) { return os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)) }

// On Linux a name has one spelling, and no directory shows in two places but
// by a mount.

func spelled(_ string, _ *unix.Stat_t, info policy.Info) policy.Info { return info }

func firmlink(string) string { return "" }
