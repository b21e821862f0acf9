package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// state is what a process can learn about itself.
type state struct {
	PID, PPID, PGID, SID int
	UID, GID             int
	Dir                  string
	Env                  []string
	Status               map[string]string
	FDs                  []int // that were inherited
}

// stateMain prints the state as JSON.
func stateMain([]string) int {
	var s state
	s.PID, s.PPID, s.PGID = unix.Getpid(), unix.Getppid(), unix.Getpgrp()
	s.SID, _ = unix.Getsid(0)
	s.UID, s.GID = unix.Getuid(), unix.Getgid()
	buf := make([]byte, unix.PathMax)
	if n, err := unix.Getcwd(buf); err == nil {
		s.Dir = string(buf[:n-1])
	}
	s.Env = os.Environ()
	s.Status = make(map[string]string)
	text, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			s.Status[name] = strings.TrimSpace(value)
		}
	}
	// What a Go program opens itself is closed at exec; what it inherits is not.
	for fd := range 64 {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			s.FDs = append(s.FDs, fd)
		}
	}
	out, err := json.Marshal(s)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(string(out))
	return 0
}

// sleepMain says that it is there and sleeps for so many milliseconds.
func sleepMain(args []string) int {
	ms, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	fmt.Println("ready")
	time.Sleep(time.Duration(ms) * time.Millisecond)
	return 0
}

// withMain executes a program after changing what it inherits: "block=N" a signal
// in the mask, "ignore=N" a signal that is ignored, "nofile=N" the soft limit on
// open files. The program follows "--".
func withMain(args []string) int {
	for len(args) > 0 && args[0] != "--" {
		what, value, _ := strings.Cut(args[0], "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			return 2
		}
		switch what {
		case "block":
			set := unix.Sigset_t{}
			set.Val[0] = 1 << (n - 1)
			err = unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
		case "ignore":
			signal.Ignore(unix.Signal(n))
		case "nofile":
			var limit syscall.Rlimit
			if err = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil {
				limit.Cur = uint64(n)
				err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
			}
		default:
			return 2
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		args = args[1:]
	}
	fmt.Fprintln(os.Stderr, syscall.Exec(args[1], args[1:], os.Environ()))
	return 1
}
