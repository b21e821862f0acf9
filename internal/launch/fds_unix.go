//go:build linux || darwin

package launch

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// CloseOnExec marks every descriptor above 2 to be closed at exec, but for keep:
// an open descriptor reads through any mask, and one that was opened read-only
// can be opened again for writing through /proc/self/fd, because it carries the
// mount that it was opened on. The descriptors in keep are unmarked; one that is
// not open is an error.
func CloseOnExec(keep []int) error {
	if err := markAll(); err != nil {
		return err
	}
	for _, fd := range keep {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	return nil
}

// Inherited fails for a descriptor that the caller did not hand on. What this program
// opened, and the runtime before its first line (files of /sys/fs/cgroup), is marked
// to be closed at exec; what is inherited cannot be.
func Inherited(fds []int) error {
	for _, fd := range fds {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC != 0 {
			err = unix.EBADF
		}
		if err != nil {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	return nil
}

// closeOnExecByList marks what the system's list of the process's own descriptors
// holds.
func closeOnExecByList() error {
	entries, err := os.ReadDir(ownDescriptors)
	if err != nil {
		return fmt.Errorf("cannot learn which descriptors are open: %w", err)
	}
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd < 3 {
			continue
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil && err != unix.EBADF {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	return nil
}

// ReadAll returns what is left to read of a descriptor, up to limit bytes.
func ReadAll(fd, limit int) ([]byte, error) {
	data := make([]byte, 0, 8192)
	for {
		data = slices.Grow(data, 512)
		n, err := unix.Read(fd, data[len(data):cap(data)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return data, nil
		}
		data = data[:len(data)+n]
		if len(data) > limit {
			return nil, fmt.Errorf("more than %d bytes", limit)
		}
	}
}

// FreeFrom returns the first n descriptor numbers from 3 that are not in taken.
func FreeFrom(n int, taken []int) []int {
	var free []int
	for fd := 3; len(free) < n; fd++ {
		if !slices.Contains(taken, fd) {
			free = append(free, fd)
		}
	}
	return free
}
