package inner

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Trial is something that the policy denies, and that the user could do without the
// sandbox: to open a file or directory, or with Write to make a file in a directory.
// Without a path there is none.
type Trial struct {
	Path  string
	Write bool
}

// ErrAllowed says that the sandbox allows what the policy denies.
var ErrAllowed = errors.New("it is not in force")

// Try does it, with one call, and returns the name of the error that it ended in. The
// file has no name, so that nothing is left where it can be made after all, which
// is ErrAllowed.
func (t Trial) Try() (errno string, err error) {
	if t.Path == "" {
		return "", nil
	}
	flags := unix.O_RDONLY | unix.O_NONBLOCK
	what := "opened"
	if t.Write {
		flags, what = unix.O_TMPFILE|unix.O_WRONLY, "written"
	}
	fd, err := unix.Open(t.Path, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NOCTTY, 0o600)
	if err == nil {
		unix.Close(fd)
		return "", fmt.Errorf("%w: %q can be %s", ErrAllowed, t.Path, what)
	}
	e, _ := err.(unix.Errno)
	return unix.ErrnoName(e), nil
}
