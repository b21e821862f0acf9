package testenv

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// User is who a command runs as.
type User struct {
	Name     string // "root" or "user", for the names of subtests
	UID, GID int
}

// Root is uid 0. Plain is a user without privilege: the overflow user where the
// tests run as root, else the caller itself.
var (
	Root  = User{"root", 0, 0}
	Plain = func() User {
		if os.Geteuid() == 0 {
			return User{"user", 65534, 65534}
		}
		return User{"user", os.Geteuid(), os.Getegid()}
	}()
)

// Attr returns what a process needs to run as u: its ids and no other groups.
func (u User) Attr() *syscall.SysProcAttr {
	if os.Geteuid() != 0 || u.UID == 0 {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}}
}

// Path is the PATH of every command that the tests run.
const Path = "/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin"

// Command is one process to run. The zero values are a /dev/null for stdin, no
// extra descriptors, and an environment of HOME, PATH and LANG alone.
type Command struct {
	User  User
	Dir   string
	Home  string
	Env   []string   // added to the environment; a later entry wins
	Stdin io.Reader  // nil for /dev/null
	Files []*os.File // descriptors from 3
	Argv  []string

	// Unshare are namespaces (CLONE_NEW...) that the command starts in, new ones.
	// Nothing propagates out of a mount namespace.
	Unshare uintptr
}

// limit ends a command that hangs. The longest, a go build without a cache, takes
// ten seconds on an idle machine.
const limit = 3 * time.Minute

// Result is how a command ended.
type Result struct {
	Stdout, Stderr string
	Status         int // the exit status, or 128 and the signal, as a shell gives it
}

// Cmd returns the command, ready to start.
func (c Command) Cmd(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append([]string{"HOME=" + c.Home, "PATH=" + Path, "LANG=C.UTF-8"}, c.Env...)
	cmd.SysProcAttr = c.User.Attr()
	cmd.SysProcAttr.Unshareflags = c.Unshare
	cmd.Stdin = c.Stdin
	cmd.ExtraFiles = c.Files
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// Run runs the command to its end. A command that cannot be started, or does not
// end in time, ends the test.
func (c Command) Run(t testing.TB) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := c.Cmd(ctx)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%q did not end within %v; it said:\n%s%s", c.Argv, limit, &stdout, &stderr)
	}
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("running %q: %v", c.Argv, err)
	}
	return Result{stdout.String(), unowned(stderr.String()), Status(cmd.ProcessState)}
}

// The launcher that a plain user's tests build lies where that user's commands can
// change it, and says so whenever Landlock does not keep them from it.
var owned = regexp.MustCompile(`(?m)^letta-confine: warning: the launcher ".*/letta-confine-bin\d+/letta-confine" can be changed by the command, and Landlock alone cannot prevent it\n`)

// unowned is what the launcher says where it is installed properly, as it is for
// tests that root runs.
func unowned(stderr string) string {
	if os.Geteuid() == 0 {
		return stderr
	}
	return owned.ReplaceAllString(stderr, "")
}

// Status is the exit status of a process as a shell gives it.
func Status(s *os.ProcessState) int {
	ws := s.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}
