package supervise

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// table is what a program is started with: at each number the descriptor it gets
// there, and at all others none.
type table struct {
	files []uintptr
	own   []int // those that were opened for it alone
	err   error // the first
}

// newTable returns an empty table with numbers up to last.
func newTable(last int) *table {
	t := &table{files: make([]uintptr, last+1)}
	for i := range t.files {
		t.files[i] = ^uintptr(0)
	}
	return t
}

// lend gives a descriptor that stays the caller's.
func (t *table) lend(at, fd int) { t.files[at] = uintptr(fd) }

// open gives a descriptor that is opened now. After an error nothing more is opened.
func (t *table) open(at int, open func() (int, error)) {
	if t.err != nil {
		return
	}
	fd, err := open()
	if err != nil {
		t.err = err
		return
	}
	t.own = append(t.own, fd)
	t.lend(at, fd)
}

// close closes what was opened.
func (t *table) close() {
	for _, fd := range t.own {
		unix.Close(fd)
	}
}

// openRoot opens the host's root directory for the stage, which compares through
// it what it sees with what the host has. It never reaches the command.
func openRoot() (int, error) {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("root directory: %w", err)
	}
	return fd, nil
}

// openSelf opens the launcher's own program, which is the stage as well.
func openSelf() (int, error) {
	fd, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening the launcher's own program: %w", err)
	}
	return fd, nil
}
