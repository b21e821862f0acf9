package launch

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ownDescriptors lists the descriptors of the process that reads it.
const ownDescriptors = "/proc/self/fd"

// shebangSize is how much of a script the kernel looks at (BINPRM_BUF_SIZE).
const shebangSize = 256

// markAll marks every descriptor above 2 to be closed at exec.
func markAll() error {
	const all = ^uint(0)
	if err := unix.CloseRange(3, all, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		// CLOSE_RANGE_CLOEXEC is there from Linux 5.11.
		return closeOnExecByList()
	}
	return nil
}

// Memfd returns an anonymous file that holds data, positioned at its start and
// closed at exec.
func Memfd(name string, data []byte) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("memfd_create: %w", err)
	}
	for rest := data; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("writing to a memfd: %w", err)
		}
		rest = rest[n:]
	}
	if _, err := unix.Seek(fd, 0, 0); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
