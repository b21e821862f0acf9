package sim_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/internal/testenv"
)

// childVariable makes this test binary a process that carries out the job on its
// standard input: a Landlock domain cannot be left again.
const childVariable = "SIM_LANDLOCK_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
		return
	}
	os.Exit(testenv.Main(m))
}

// job is a ruleset, who applies it, and what is then tried.
type job struct {
	UID     int
	Handled uint64
	Grants  []sim.Grant
	Tries   []try
}

// try is one system call. Path is the second name where there are two.
type try struct{ Op, Path, Other string }

// answer is what became of a job: the error of the step that failed, or one for
// each try. Zero is success.
type answer struct {
	Step  string
	Errno syscall.Errno
	Tries []syscall.Errno
}

// child confines its own thread and stays on it.
func child() {
	runtime.LockOSThread()
	var j job
	var a answer
	if err := gob.NewDecoder(os.Stdin).Decode(&j); err != nil {
		panic(err)
	}
	if a.Step, a.Errno = confine(j); a.Errno == 0 {
		for _, t := range j.Tries {
			a.Tries = append(a.Tries, errno(attempt(t)))
		}
	}
	if err := gob.NewEncoder(os.Stdout).Encode(a); err != nil {
		panic(err)
	}
}

func errno(err error) syscall.Errno {
	var e syscall.Errno
	if err != nil && !errors.As(err, &e) {
		panic(err)
	}
	return e
}

func confine(j job) (string, syscall.Errno) {
	if j.UID != os.Getuid() { // under bubblewrap it is that user already
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(j.UID), syscall.Setuid(j.UID)); err != nil {
			return "setuid", errno(err)
		}
	}
	if j.Handled == 0 {
		return "", 0 // something else confines it
	}
	set, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessFS: j.Handled}, 0)
	if err != nil {
		return "create ruleset", errno(err)
	}
	for _, g := range j.Grants {
		fd, err := unix.Open(g.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return "open", errno(err)
		}
		if err := ll.LandlockAddPathBeneathRule(set, &ll.PathBeneathAttr{AllowedAccess: g.Rights, ParentFd: fd}, 0); err != nil {
			return "add rule", errno(err)
		}
		unix.Close(fd)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "no_new_privs", errno(err)
	}
	return "restrict self", errno(ll.LandlockRestrictSelf(set, 0))
}

// attempt does what is tried.
func attempt(t try) error {
	open := func(flags int) error {
		fd, err := unix.Open(t.Path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	switch t.Op {
	case "read":
		return open(unix.O_RDONLY)
	case "write":
		return open(unix.O_WRONLY)
	case "overwrite":
		return open(unix.O_WRONLY | unix.O_TRUNC)
	case "truncate":
		return unix.Truncate(t.Path, 0)
	case "list":
		return open(unix.O_RDONLY | unix.O_DIRECTORY)
	case "execute":
		// No format that the kernel knows: with the right to execute the file
		// that is what it says (ENOEXEC).
		_, err := syscall.ForkExec(t.Path, []string{t.Path}, nil)
		if err == syscall.ENOEXEC {
			return nil
		}
		return err
	case "unlink":
		return unix.Unlink(t.Path)
	case "rmdir":
		return unix.Rmdir(t.Path)
	case "mkdir":
		return unix.Mkdir(t.Path, 0o755)
	case "symlink":
		return unix.Symlink("target", t.Path)
	case "rename":
		return unix.Rename(t.Path, t.Other)
	case "link":
		return unix.Link(t.Path, t.Other)
	case "create":
		fd, err := unix.Open(t.Path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	if mode, ok := nodes[t.Op]; ok {
		err := unix.Mknod(t.Path, mode|0o644, int(unix.Mkdev(1, 3)))
		if err == unix.EPERM {
			return nil // a user without CAP_MKNOD, of whom Landlock is asked first
		}
		return err
	}
	panic(t.Op)
}

var nodes = map[string]uint32{
	"make file": unix.S_IFREG, "make fifo": unix.S_IFIFO, "make socket": unix.S_IFSOCK,
	"make char": unix.S_IFCHR, "make block": unix.S_IFBLK,
}

// run has a process of its own carry out the job.
func (j job) run(t *testing.T) answer {
	t.Helper()
	var in, out bytes.Buffer
	if err := gob.NewEncoder(&in).Encode(j); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(cmd.Environ(), childVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := gob.NewDecoder(&out).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

// mediated returns the rights that this kernel mediates, of those that the
// interpreter knows.
func mediated(t *testing.T) uint64 {
	t.Helper()
	abi, err := ll.LandlockGetABIVersion()
	testenv.Need(t, testenv.FacilityLandlock, err)
	rights := sim.MakeSym<<1 - 1
	for _, added := range []struct {
		abi   int
		right uint64
	}{{2, sim.Refer}, {3, sim.Truncate}, {5, sim.IoctlDev}, {9, sim.ResolveUnix}} {
		if abi >= added.abi {
			rights |= added.right
		}
	}
	return rights
}

// asWhom are the users that the kernel is asked as. Only root can be both.
func asWhom(t *testing.T, check func(t *testing.T, uid int)) {
	t.Run("root", func(t *testing.T) {
		testenv.Need(t, testenv.FacilityRoot, testenv.HasRoot())
		check(t, 0)
	})
	t.Run("user", func(t *testing.T) { check(t, testenv.Plain.UID) })
}
