package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// sim is a host that lacks something, made out of this one. The kernel's own
// means make it: a system call filter, limits, another user.
type sim struct {
	landlock string // errno of the landlock_* calls
	abi      int    // Landlock looks like this version
	userns   string // errno for new user namespaces
	mounts   string // errno for new namespaces of any kind, and for mounting
	domain   bool   // inside a Landlock domain that allows everything but to mount
	closed   bool   // without the three standard descriptors
	noCwd    bool   // in a directory that was removed
	uid      int
	limits   limits
}

// limits are resource limits by the name of their flags.
type limits map[int]uint64

var limitNames = []struct {
	name     string
	resource int
}{
	{"nofile", unix.RLIMIT_NOFILE},
	{"nproc", unix.RLIMIT_NPROC},
	{"fsize", unix.RLIMIT_FSIZE},
	{"as", unix.RLIMIT_AS},
	{"stack", unix.RLIMIT_STACK},
	{"memlock", unix.RLIMIT_MEMLOCK},
}

var errnos = map[string]unix.Errno{"eperm": unix.EPERM, "enosys": unix.ENOSYS, "eopnotsupp": unix.EOPNOTSUPP, "enospc": unix.ENOSPC}

// simMain executes a command on the host that the flags describe.
func simMain(args []string) int {
	s := sim{limits: limits{}}
	f := flag.NewFlagSet("sim", flag.ExitOnError)
	f.StringVar(&s.landlock, "landlock", "", "errno of every Landlock call")
	f.IntVar(&s.abi, "abi", 0, "version that Landlock looks like")
	f.StringVar(&s.userns, "userns", "", "errno of making user namespaces")
	f.StringVar(&s.mounts, "mounts", "", "errno of making namespaces and of mounting")
	f.BoolVar(&s.domain, "domain", false, "be inside a Landlock domain")
	f.BoolVar(&s.closed, "closed", false, "close the standard descriptors")
	f.BoolVar(&s.noCwd, "nocwd", false, "work in a removed directory")
	f.IntVar(&s.uid, "uid", -1, "become this user")
	values := make([]*uint64, len(limitNames))
	for i, l := range limitNames {
		values[i] = f.Uint64(l.name, 1<<63, "resource limit")
	}
	f.Parse(args)
	for i, l := range limitNames {
		if *values[i] != 1<<63 {
			s.limits[l.resource] = *values[i]
		}
	}
	var err error
	if s.abi > 0 && os.Getenv(listenerEnv) == "" {
		var status int
		if status, err = s.serve(args); err == nil {
			return status
		}
	} else {
		err = s.become(f.Args())
	}
	fmt.Fprintln(os.Stderr, "hosts: sim:", err)
	return 1
}

// listenerEnv tells the second process of sim that descriptor 3 takes the
// listener of its filter.
const listenerEnv = "HOSTS_SIM_LISTENER"

// become turns this process into the command. It returns only if it cannot.
func (s sim) become(argv []string) error {
	runtime.LockOSThread() // filters and domains belong to a thread
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		// A filter needs it from whoever has no capability; uid 0 goes without,
		// so that a set-user-id program stays what it is.
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	if s.domain {
		if err := domain(); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if err := s.filter(); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	if s.uid > 0 && os.Geteuid() == 0 {
		if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(s.uid, s.uid, s.uid), unix.Setresuid(s.uid, s.uid, s.uid)); err != nil {
			return err
		}
	}
	if s.noCwd {
		dir, err := os.MkdirTemp("", "hosts-gone-")
		if err != nil {
			return err
		}
		if err := errors.Join(os.Chdir(dir), os.Remove(dir)); err != nil {
			return err
		}
	}
	env := os.Environ()
	if s.closed {
		for fd := range 3 {
			unix.Close(fd)
		}
	}
	for resource, n := range s.limits {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return err
		}
	}
	return unix.Exec(path, argv, env)
}

// domain enters a Landlock domain that allows what it handles, below the root.
func domain() error {
	attr := ll.RulesetAttr{HandledAccessFS: ll.AccessFSWriteFile}
	ruleset, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return err
	}
	defer unix.Close(ruleset)
	root, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	if err := ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{ParentFd: root, AllowedAccess: ll.AccessFSWriteFile}, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return ll.LandlockRestrictSelf(ruleset, 0)
}

// serve starts a second sim, and answers its Landlock calls until it ends.
func (s sim) serve(args []string) (int, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "listener")
	cmd := exec.Command("/proc/self/exe", append([]string{"sim"}, args...)...)
	cmd.Env = append(os.Environ(), listenerEnv+"=3")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	signal.Ignore(syscall.SIGINT) // of the terminal: the command has it too
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	theirs.Close()
	listener, err := receive(pair[0])
	if err == nil {
		go answer(listener, s.abi)
	}
	cmd.Wait()
	return cmd.ProcessState.ExitCode(), nil
}

// receive takes the descriptor that the second process sends.
func receive(socket int) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), oob, 0)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return -1, errors.New("no listener came")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, errors.New("no listener came")
	}
	return fds[0], nil
}
