package inner

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// standard looks at the three descriptors that the command inherits, where no
// launcher has: an open one reads through any mask, and belongs to the mount that it
// was opened on. It knows no policy, so that what it accepts is what can be reached
// inside: a regular file must be found there by its path, and one that is only read
// is opened again, or the command could open it for writing by way of
// /proc/self/fd.
func standard() ([]Reopen, error) {
	var again []Reopen
	for fd := range 3 {
		var st unix.Stat_t
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err == nil {
			err = unix.Fstat(fd, &st)
		}
		kind := hostfs.KindOf(uint32(st.Mode))
		switch {
		case err != nil:
			return nil, fmt.Errorf("standard descriptor %d: %w", fd, err)
		case flags&unix.O_PATH != 0 || kind == policy.Dir:
			return nil, fmt.Errorf("standard descriptor %d leads to more than it shows", fd)
		case kind != policy.File || st.Nlink == 0:
			continue // no path leads to it, or its path says nothing of its contents
		}
		path, err := hostfs.PathOf(fd)
		if err != nil {
			return nil, fmt.Errorf("standard descriptor %d: %w", fd, err)
		}
		id := policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}
		if same(path, id) != nil {
			return nil, fmt.Errorf("standard descriptor %d is the file %q: %w", fd, path, errHidden)
		}
		if flags&unix.O_ACCMODE == unix.O_RDONLY {
			again = append(again, Reopen{FD: fd, Path: path, Flags: flags, ID: id})
		}
	}
	return again, nil
}

// errHidden says that a file which the caller has open cannot be seen inside.
var errHidden = errors.New("it is not to be seen inside the sandbox")
