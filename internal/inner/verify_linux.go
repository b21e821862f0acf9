package inner

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/policy"
)

// errChanged says that a path no longer leads to what the policy was resolved
// against: something was renamed or replaced while the sandbox was being set up.
var errChanged = errors.New("it was replaced while the sandbox was set up")

// errUnmasked says that a denied root can be seen.
var errUnmasked = errors.New("it is not masked")

// verify checks that bubblewrap mounted what the policy meant. Bubblewrap mounts
// by path, and somebody may rename directories at the same time: what was mounted
// on is then another directory, and the right one is moved back in its place.
func (p Plan) verify() error {
	masks := 0
	for _, c := range p.Checks {
		if c.State == bwrap.Masked || c.State == bwrap.Private {
			masks++
		}
	}
	for _, c := range p.Checks {
		var err error
		switch c.State {
		case bwrap.Masked:
			err = p.masked(c, looks(masks))
		case bwrap.Private:
			if err = p.masked(c, looks(masks)); err == nil {
				err = unix.Chmod(c.Path, 0o1777) // as a shared temporary directory has it
			}
		default:
			err = p.mounted(c)
		}
		if err != nil {
			return fmt.Errorf("root %q: %w", c.Path, err)
		}
	}
	return nil
}

// place is what is found at a path, looked at through one descriptor, so that the
// file and the mount it lies on belong together.
type place struct {
	id       policy.ID
	mode     uint32
	rdev     uint64
	tmpfs    bool
	readOnly bool
}

func look(dir int, path string) (place, error) {
	fd, err := unix.Openat(dir, path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return place{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := unix.Fstat(fd, &st); err != nil {
		return place{}, err
	}
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return place{}, err
	}
	return place{
		id: policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}, mode: st.Mode & unix.S_IFMT, rdev: uint64(st.Rdev),
		tmpfs: fs.Type == unix.TMPFS_MAGIC, readOnly: fs.Flags&unix.ST_RDONLY != 0,
	}, nil
}

// onHost is the path as seen from the host's root directory.
func onHost(path string) string {
	if path == "/" {
		return "."
	}
	return strings.TrimPrefix(path, "/")
}

// mounted checks a root that can be seen: it is the file that was resolved, and
// can be written or not as the policy says. One look decides: had another
// directory been mounted on, this one would lie on the mount below.
func (p Plan) mounted(c bwrap.Check) error {
	here, err := look(unix.AT_FDCWD, c.Path)
	if err != nil {
		return err
	}
	fixed := c.State == bwrap.Fixed
	if here.id != c.ID && (!fixed || c.ID != policy.ID{}) {
		return errChanged
	}
	if here.readOnly == fixed {
		return nil
	}
	if fixed {
		return errors.New("it is not on a read-only mount")
	}
	if p.byPath {
		return nil // less than the policy allows
	}
	// Where the host itself cannot write, there is nothing to give.
	if there, err := look(p.Root, onHost(c.Path)); err != nil || there.id != c.ID || !there.readOnly {
		return errChanged
	}
	return nil
}

// masked checks a root that must not be seen: at its path there is a mask, and
// on the host, at the same path, the file that was resolved. If the mask lay on
// another directory, the two could not be true at once, but each could be in its
// turn, for somebody who keeps swapping the two. So both are looked at in turn,
// many times and not quite regularly; whoever swaps has to hit between every two
// looks.
func (p Plan) masked(c bwrap.Check, looks int) error {
	mask, err := look(unix.AT_FDCWD, c.Path)
	if err != nil {
		return err
	}
	sealed := c.State == bwrap.Masked
	dir := mask.mode == unix.S_IFDIR && mask.tmpfs && mask.readOnly == sealed
	null := sealed && mask.mode == unix.S_IFCHR && mask.rdev == unix.Mkdev(1, 3) // /dev/null
	if mask.id == c.ID || !dir && !null {
		return errUnmasked
	}
	if p.byPath {
		return nil
	}
	path := onHost(c.Path)
	for i := range looks {
		if id, err := identity(p.Root, path); err != nil || id != c.ID {
			return errChanged
		}
		pause(i)
		if id, err := identity(unix.AT_FDCWD, c.Path); err != nil || id != mask.id {
			return errChanged
		}
		pause(i * i)
	}
	return nil
}

// looks is how often each of so many masks is looked at. A look takes about a
// microsecond. For whoever swaps at random, each pair of looks is passed one time
// in four at best: a mask among many is passed by 2 to the power of -32 of all tries.
func looks(masks int) int { return max(16, min(32, 1024/max(masks, 1))) }

// pause spends a time that differs from one look to the next.
func pause(i int) {
	for range i * 7919 % 13 {
		_ = unix.Getppid()
	}
}

func identity(dir int, path string) (policy.ID, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, path, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return policy.ID{}, err
	}
	return policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}, nil
}
