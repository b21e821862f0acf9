package landlock

import (
	"io/fs"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// UnionABI is the newest ABI that a union of grants makes use of, and the oldest
// that enforces all of it.
const UnionABI = 5

// Union is a list of grants and nothing else, as Landlock itself has it: what no
// grant names is refused, and no grant takes from another. It is no policy, and
// none of the policy's rules apply: a policy cannot deny the root directory, and
// a union that lacks it does.
type Union struct {
	ReadOnly []string // read, listed and executed
	Writable []string // whatever a kernel of UnionABI mediates
}

// Restrict is [Ruleset.Restrict] for a union. Paths are opened as they are written,
// symlinks are followed. An [*fs.PathError] names a path that cannot be opened.
func (u Union) Restrict(abi int) error {
	if abi < 1 {
		return ErrABI
	}
	handled := Handled(min(abi, UnionABI))
	var top unix.Stat_t
	if err := unix.Stat("/", &top); err != nil {
		return err
	}
	readable := false
	allow := func(ruleset int, path string, rights Rights) error {
		st, err := allow(ruleset, path, rights)
		readable = readable || (st.Dev == top.Dev && st.Ino == top.Ino)
		return err
	}
	err := restrict(ll.RulesetAttr{HandledAccessFS: uint64(handled)}, 0, func(ruleset int) error {
		for _, path := range u.ReadOnly {
			if err := allow(ruleset, path, ll.AccessFSExecute|ll.AccessFSReadFile|ll.AccessFSReadDir); err != nil {
				return err
			}
		}
		for _, path := range u.Writable {
			if err := allow(ruleset, path, handled); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || readable {
		return err
	}
	return checkRoot()
}

func allow(ruleset int, path string, rights Rights) (st unix.Stat_t, err error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return st, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil {
		return st, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	return st, ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: uint64(rights), ParentFd: fd}, 0)
}
