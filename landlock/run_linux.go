package landlock

import (
	"errors"
	"fmt"
	"os"
	"slices"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/policy"
)

// ABI returns the version of Landlock that the running kernel enforces. It
// fails with ENOSYS where the kernel has none, with EOPNOTSUPP where Landlock was
// not enabled at boot, and with EPERM where a seccomp filter forbids asking.
func ABI() (int, error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0, err
	}
	return abi, nil
}

// List returns the entries of a directory, for Host.List.
func List(dir string) ([]Entry, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		entries = append(entries, Entry{name.Name(), kindOf(name.Type())})
	}
	return entries, nil
}

func kindOf(mode os.FileMode) policy.Kind {
	switch {
	case mode.IsDir():
		return policy.Dir
	case mode.IsRegular():
		return policy.File
	case mode&os.ModeSymlink != 0:
		return policy.Symlink
	case mode&os.ModeDevice != 0:
		return policy.Device
	}
	return policy.Other
}

// errChanged says that a root is no longer what the policy was resolved against.
var errChanged = errors.New("it was replaced while the sandbox was set up")

// Restrict puts the calling thread, and what it executes, into the domain that
// rs describes, and sets no_new_privs. The caller stays on the thread. It is never
// best effort: any right that the kernel does not take is an error, and on an
// error the thread must not go on to run a command.
//
// The outputs are descriptors of the command's output: where one is a regular file
// that was opened for writing, the command may open it anew, as /dev/stdout. Whoever
// redirected it there meant it to be written.
//
// Each path is opened without following a symlink, and a root must be the file
// that was resolved: a name swapped in the meantime grants nothing.
func (rs Ruleset) Restrict(outputs ...int) error {
	var flags uint32
	if rs.Log {
		flags = ll.FlagRestrictSelfLogNewExecOn
	}
	err := restrict(ll.RulesetAttr{HandledAccessFS: uint64(rs.Handled), Scoped: rs.Scoped}, flags, func(ruleset int) error {
		for _, g := range rs.Grants {
			if err := rs.add(ruleset, g); err != nil {
				return fmt.Errorf("rule for %q: %w", g.Path, err)
			}
		}
		return rs.addOutputs(ruleset, outputs)
	})
	readable := slices.ContainsFunc(rs.Grants, func(g Grant) bool { return g.Path == "/" && g.Rights&ll.AccessFSReadDir != 0 })
	if err != nil || readable || rs.Handled&ll.AccessFSReadDir == 0 {
		return err
	}
	return checkRoot()
}

// restrict puts the calling thread into a domain with the rules that fill adds.
func restrict(attr ll.RulesetAttr, flags uint32, fill func(ruleset int) error) error {
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	defer unix.Close(fd)
	if err := fill(fd); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := ll.LandlockRestrictSelf(fd, flags); err == unix.E2BIG {
		return ErrLayers
	} else if err != nil {
		return fmt.Errorf("landlock_restrict_self: %w", err)
	}
	return nil
}

// ErrLayers says that this process is in as many domains as the kernel stacks
// (landlock(7): 16).
var ErrLayers = errors.New("16 Landlock domains hold this process, and the kernel stacks no more")

// ErrAbove says that the rules reach the root itself from above.
var ErrAbove = errors.New("the root directory lies below a directory that the policy allows")

// checkRoot opens the root, now that the domain stands and where no rule lets it
// be read. The kernel looks for rules up to the real root: in a chroot beyond what
// can be seen, and a directory out there that was mounted in here too brings its
// rule for all of the chroot (integration: TestChrootBelowWhatIsGranted).
func checkRoot() error {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == unix.EACCES {
		return nil
	}
	if err == nil {
		unix.Close(fd)
		err = ErrAbove
	}
	return err
}

// addOutputs adds the rules for the command's output.
func (rs Ruleset) addOutputs(ruleset int, outputs []int) error {
	rights := uint64(rs.Handled & (ll.AccessFSWriteFile | ll.AccessFSTruncate))
	for _, fd := range outputs {
		var st unix.Stat_t
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err == nil {
			err = unix.Fstat(fd, &st)
		}
		if err != nil {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink == 0 || flags&unix.O_ACCMODE == unix.O_RDONLY {
			continue
		}
		if err := ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0); err != nil {
			return fmt.Errorf("rule for descriptor %d: %w", fd, err)
		}
	}
	return nil
}

func (rs Ruleset) add(ruleset int, g Grant) error {
	path, err := unix.Openat2(unix.AT_FDCWD, g.Path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		if g.Optional && (err == unix.ENOENT || err == unix.ELOOP || err == unix.EACCES) {
			return nil // gone, or out of reach for the command as well
		}
		return err
	}
	defer unix.Close(path)
	if err := rs.identify(path, g); err != nil {
		return err
	}
	err = ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: uint64(g.Rights), ParentFd: path}, 0)
	if err == unix.EINVAL && g.Optional {
		return nil // a directory was replaced by a file since it was listed
	}
	return err
}

// identify checks that an opened path is what it was: a root the file that was
// resolved, and anything beside a root none of the guarded ones, renamed into its
// place since the directory was listed.
func (rs Ruleset) identify(fd int, g Grant) error {
	beside := g.Optional && len(rs.Guarded)+len(rs.Fixed) > 0
	if g.ID == (policy.ID{}) && !beside {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	found := policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}
	_, guarded := slices.BinarySearchFunc(rs.Guarded, found, byID)
	_, fixed := slices.BinarySearchFunc(rs.Fixed, found, byID)
	taken := guarded || fixed && g.Rights&writeRights != 0
	if named := g.ID != (policy.ID{}); named && found != g.ID || !named && taken {
		return errChanged
	}
	return nil
}
