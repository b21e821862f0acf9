package main

import (
	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
)

// lockedIn reports whether this process can gain no privileges, as every confined one.
func lockedIn() bool {
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	return err == nil && nnp == 1
}

// tableOfMounts returns nil where the mounts cannot be learned.
func tableOfMounts() []hostfs.Mount {
	text, err := readFile("/proc/self/mountinfo", maxMountinfo)
	if err != nil {
		return nil
	}
	mounts, err := hostfs.ParseMounts(string(text))
	if err != nil {
		return nil
	}
	return mounts
}

// nameless makes a file without a name in a directory. Landlock allows that where it
// allows to write the files in it, which the launcher's rules give and withhold
// together with the right to make one.
func nameless(dir string) error {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_EXCL|noop, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}
