package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
)

// made are the empty directories that a run created so that a mask or a read-only
// bind has a mount point. They are removed at its end, by the run that made them, if it can be
// sure that nobody uses them: an rmdir in one mount namespace takes the mount off
// in another (measured), and whatever is created there next is in plain sight.
type made struct {
	paths []string // the topmost first
	ids   map[string]policy.ID
	locks map[string]int
	held  *os.File // the sandbox's mount namespace
}

// errRemoved says that a mount point that was there is not there any more.
var errRemoved = errors.New("it was removed or replaced while the sandbox was set up")

// errLocked says that somebody has an exclusive lock on a mount point: a run that
// ends and is about to remove it, for a moment, or anybody who may read it.
var errLocked = withHint(errors.New("another process keeps it locked"), "lslocks names the process")

// lock takes a shared lock on every directory that is masked or bound read-only,
// held by the supervisor while it runs. A run that finds one of them in use leaves it. The directory must
// still be what it was when the lock is had, or another run has just removed it.
func (m *made) lock(checks []bwrap.Check) error {
	m.locks = make(map[string]int)
	for _, c := range checks {
		if c.State == bwrap.Same || c.State == bwrap.Private || c.ID == (policy.ID{}) {
			continue // never made: the host's own root directory has no identity here
		}
		fd, err := hostfs.OpenPlain(c.Path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err == unix.ENOTDIR || err == unix.EACCES {
			continue // a file; or not one that this user can have made
		}
		if err != nil {
			return fmt.Errorf("root %q: %w", c.Path, err)
		}
		m.locks[c.Path] = fd
		if err := unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB); err != nil && err != unix.EWOULDBLOCK {
			continue // a file system without locks: no run that locks can have made it
		} else if err == unix.EWOULDBLOCK {
			return fmt.Errorf("root %q: %w", c.Path, errLocked)
		}
		if info, err := (hostfs.FS{}).Lstat(c.Path); err != nil || info.ID != c.ID {
			return fmt.Errorf("root %q: %w", c.Path, errRemoved)
		}
	}
	return nil
}

// note remembers what was made, to recognize it at the end.
func (m *made) note(paths []string) {
	m.paths = paths
	m.ids = make(map[string]policy.ID)
	for _, path := range paths {
		if info, err := (hostfs.FS{}).Lstat(path); err == nil {
			m.ids[path] = info.ID
		}
	}
}

// toMake lists the directories that do not exist on the way to the roots, the
// topmost first.
func toMake(needed []policy.Root) []string {
	var paths []string
	for _, root := range needed {
		for _, dir := range slices.Backward(append([]string{root.Path}, policy.Ancestors(root.Path)...)) {
			if !policy.Holds(dir, root.Existing) && !slices.Contains(paths, dir) {
				paths = append(paths, dir)
			}
		}
	}
	return paths
}

// hold keeps the sandbox's mount namespace while the run lasts, if it made anything:
// the kernel gives the number of one that is gone to the next that is made, which
// may be another run's.
func (m *made) hold(p inner.Proof) {
	if len(m.paths) == 0 {
		return
	}
	if file, err := os.Open("/proc/" + strconv.Itoa(p.PID) + "/ns/mnt"); err == nil {
		m.held = file // without it a directory may stay that could go
	}
}

// unlock gives the locks back.
func (m *made) unlock() {
	for _, fd := range m.locks {
		unix.Close(fd)
	}
	m.locks = nil
}

// release removes what was made, where that is safe, gives the locks back, and
// returns the directories that stay. mountNamespace is that of the sandbox, or ""
// if none came to stand.
func (m *made) release(mountNamespace string) (stay []string) {
	used := len(m.paths) > 0 && inhabited(mountNamespace)
	for _, path := range slices.Backward(m.paths) {
		if used || !m.alone(path) || !m.remove(path) {
			stay = append(stay, path)
		}
	}
	slices.Reverse(stay)
	m.held.Close()
	m.unlock()
	m.paths = nil
	return stay
}

// alone turns the shared lock on a directory into an exclusive one, which works
// if no other run uses it. A directory above a mask has no lock, and is empty
// only once the mask's is gone.
func (m *made) alone(path string) bool {
	fd, ok := m.locks[path]
	return !ok || unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
}

// remove removes one directory, through its parent, if it is the one that was
// made. Rmdir spares it if it is not empty.
func (m *made) remove(path string) bool {
	parent, err := hostfs.OpenPlain(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(parent)
	var st unix.Stat_t
	if err := unix.Fstatat(parent, filepath.Base(path), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return errors.Is(err, unix.ENOENT)
	}
	if (policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}) != m.ids[path] {
		return false
	}
	return unix.Unlinkat(parent, filepath.Base(path), unix.AT_REMOVEDIR) == nil
}

// inhabited reports whether a process lives on in a mount namespace: a server
// that the command left behind keeps its masks. Where a process that is younger
// than the launcher cannot be looked at the answer is true.
func inhabited(mountNamespace string) bool {
	if mountNamespace == "" {
		return false
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	since := launch.Started("self")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		ns, err := os.Readlink("/proc/" + e.Name() + "/ns/mnt")
		if ns == mountNamespace || errors.Is(err, unix.EACCES) && ownProcess(e.Name()) && launch.Started(e.Name()) >= since {
			return true
		}
	}
	return false
}

// ownProcess reports whether a process that cannot be looked at can have come from
// this launcher. Its command has no_new_privs and a system call filter, which neither
// it nor a descendant can take back and which anybody may read: a process without is
// somebody else's, such as one that is about to become this user, or a launcher that
// holds credentials. The others run
// as the same user, whatever they did to the owner of their /proc directory
// (PR_SET_DUMPABLE), or the launcher is root, whose commands can become anyone.
// With CAP_SYS_PTRACE the launcher can look at all of those: what is closed to it
// even so belongs to somebody above.
func ownProcess(pid string) bool {
	if held, err := harden.Permitted(); err == nil && held&(1<<unix.CAP_SYS_PTRACE) != 0 {
		return false
	}
	text, err := readFile("/proc/"+pid+"/status", 64<<10)
	if err != nil {
		return false // it has ended
	}
	if statusField(text, "NoNewPrivs") == "0" || harden.HasFilter && statusField(text, "Seccomp") == "0" {
		return false
	}
	uid := strconv.Itoa(os.Geteuid())
	return uid == "0" || slices.Contains(strings.Fields(statusField(text, "Uid")), uid)
}

// statusField returns one line's value of /proc/PID/status, or "".
func statusField(text []byte, name string) string {
	_, value, _ := strings.Cut(string(text), "\n"+name+":")
	value, _, _ = strings.Cut(value, "\n")
	return strings.TrimSpace(value)
}
