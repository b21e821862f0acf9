package bwrap

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// trusted are the places where a system installs bubblewrap. PATH is not
// consulted: a workspace can put a program of that name on it, and that program
// would run unconfined.
var trusted = []string{
	"/usr/bin/bwrap",
	"/bin/bwrap",
	"/usr/local/bin/bwrap",
	"/run/current-system/sw/bin/bwrap",
	"/nix/var/nix/profiles/default/bin/bwrap",
	"/run/current-system/profile/bin/bwrap",
}

// Reasons for which Find returns no program.
var (
	ErrMissing   = errors.New("bubblewrap is not installed")
	ErrUntrusted = errors.New("program could be replaced by someone else")
)

// Helper is a bubblewrap program that may be started.
type Helper struct {
	Path string // canonical
	ID   policy.ID
}

// Find returns the bubblewrap to start: explicit if that is not empty, else the
// first in the trusted places. Wherever it lies, the file and every directory
// above it must belong to root and be writable by its owner alone; inside a user
// namespace that does not map root, root's files belong to the overflow uid,
// which is accepted in root's stead there.
//
// It fails with ErrMissing where there is none, and with ErrUntrusted where there
// is one that another user could replace. It runs nothing.
func Find(explicit string) (Helper, error) {
	places := trusted
	if explicit != "" {
		places = []string{explicit}
	}
	for _, place := range places {
		path, err := policy.Canonical(place, hostfs.FS{})
		if err != nil {
			return Helper{}, fmt.Errorf("bubblewrap %q: %w", place, err)
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err == unix.ENOENT && explicit == "" {
			continue
		} else if err != nil {
			return Helper{}, fmt.Errorf("bubblewrap %q: %w", place, err)
		}
		if err := checkProgram(path, &st); err != nil {
			return Helper{}, fmt.Errorf("bubblewrap %q: %w", place, err)
		}
		return Helper{Path: path, ID: policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}}, nil
	}
	return Helper{}, ErrMissing
}

func checkProgram(path string, st *unix.Stat_t) error {
	if hostfs.KindOf(st.Mode) != policy.File {
		return errors.New("not a regular file")
	}
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS); err != nil {
		return err
	}
	if !rootsAlone(st) {
		return fmt.Errorf("%w: it must belong to root and be writable by root alone", ErrUntrusted)
	}
	for _, dir := range policy.Ancestors(path) {
		var st unix.Stat_t
		if err := unix.Stat(dir, &st); err != nil {
			return err
		}
		if !rootsAlone(&st) {
			return fmt.Errorf("%w: %q must belong to root and be writable by root alone", ErrUntrusted, dir)
		}
	}
	return nil
}

// overflowUID is how a user namespace shows the owner of files that it does not
// map (kernel: DEFAULT_OVERFLOWUID; user_namespaces(7)).
const overflowUID = 65534

// rootsAlone reports whether only root can change the file. The overflow uid
// stands for root where the caller is in a user namespace and is not that uid
// itself: it then owns nothing that root does not.
func rootsAlone(st *unix.Stat_t) bool {
	if st.Mode&0o022 != 0 {
		return false
	}
	return st.Uid == 0 || (st.Uid == overflowUID && unix.Geteuid() != overflowUID && inUserNamespace())
}

// inUserNamespace reports whether the caller's uids are mapped. The initial
// namespace maps all 2^32-1 of them (user_namespaces(7)).
func inUserNamespace() bool {
	fd, err := unix.Open("/proc/self/uid_map", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	buf := make([]byte, 128)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return false
	}
	var inside, outside, count uint64
	if _, err := fmt.Sscan(string(buf[:n]), &inside, &outside, &count); err != nil {
		return false
	}
	return inside != 0 || outside != 0 || count != 4294967295
}
