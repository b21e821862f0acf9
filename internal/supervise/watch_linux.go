package supervise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/policy"
)

// watch notices that a name on the way to a root was renamed, replaced or made
// while bubblewrap mounted. Bubblewrap mounts by path; to look before and
// afterwards is not enough, because a directory swapped for another and back in
// between takes the mask with it and looks the same both times. The kernel reports
// each change of a name to whoever watches its directory, so none is missed
// (inotify(7)).
type watch struct {
	fd    int
	names map[int32][]string // by watch: the names in that directory that matter
}

// newWatch watches the names that lead to the checked paths, in the directories
// that the caller has the right to change. The directories are watched from the
// top down: a swap of one that is watched a moment later is seen in the one
// above. The roots have to be compared with what was resolved only after that.
func newWatch(checks []bwrap.Check) (*watch, error) {
	fd, err := inotify()
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	w := &watch{fd, make(map[int32][]string)}
	watched := make(map[string]int32)
	for _, c := range checks {
		path := c.Path
		for i, dir := range slices.Backward(append([]string{path}, policy.Ancestors(path)...)) {
			if i == 0 {
				continue // the root itself: what is in it is not on the way to it
			}
			wd, ok := watched[dir]
			if !ok {
				if wd, err = w.add(dir); err != nil {
					w.close()
					return nil, fmt.Errorf("watching %q: %w", dir, err)
				}
				watched[dir] = wd
			}
			if wd >= 0 {
				name, _, _ := strings.Cut(strings.TrimPrefix(path[len(strings.TrimSuffix(dir, "/")):], "/"), "/")
				w.names[wd] = append(w.names[wd], name)
			}
		}
	}
	return w, nil
}

// inotify opens an instance. A user has 128 of them unless the host says
// otherwise (fs.inotify.max_user_instances): a hundred launchers at once may
// have to wait for one another.
func inotify() (fd int, err error) {
	for range 200 {
		if fd, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != unix.EMFILE {
			return fd, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fd, err
}

// add watches a directory, or returns -1 for one that the caller cannot change.
func (w *watch) add(dir string) (int32, error) {
	if !(hostfs.FS{}).Replaceable(dir) {
		return -1, nil
	}
	wd, err := unix.InotifyAddWatch(w.fd, dir, unix.IN_MOVE|unix.IN_CREATE|unix.IN_DELETE|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
	if err == unix.EACCES {
		return -1, nil // not readable; its owner would have been told apart by Replaceable
	}
	return int32(wd), err
}

// errMoved says that a root was moved about while it was being mounted.
var errMoved = errors.New("a root was renamed or replaced while the sandbox was set up")

// quiet fails if a watched name changed since newWatch.
func (w *watch) quiet() error {
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buf)
		switch {
		case err == unix.EAGAIN:
			return nil
		case err == unix.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("inotify: %w", err)
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			wd := int32(binary.NativeEndian.Uint32(buf[at:]))
			mask := binary.NativeEndian.Uint32(buf[at+4:])
			size := int(binary.NativeEndian.Uint32(buf[at+12:]))
			name := strings.TrimRight(string(buf[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+size]), "\x00")
			at += unix.SizeofInotifyEvent + size
			if mask&unix.IN_Q_OVERFLOW != 0 || slices.Contains(w.names[wd], name) {
				return fmt.Errorf("%w: %w", inner.ErrRefused, errMoved)
			}
		}
	}
}

func (w *watch) close() { unix.Close(w.fd) }
