// Package supervise runs a command in a bubblewrap sandbox, or in a Landlock domain
// alone, and stays beside it, to keep the process contract that these do not: exit statuses that
// tell the launcher's failure from the command's, signals that reach the command,
// and nothing of the sandbox left when the supervisor is killed.
//
// # Limits
//
// A signal to the whole process group reaches the command twice, once from its
// sender and once from the supervisor, except for the terminal's own in the
// foreground group. A command stopped by a signal that was not sent to the
// supervisor's group leaves the supervisor waiting.
package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/internal/launch"
)

// readyLimit is how long bubblewrap and the inner stage may take. A thousand
// binds take bubblewrap 0.8 a second and a half.
const readyLimit = 30 * time.Second

// Sandbox is what to run and in what.
type Sandbox struct {
	Bwrap   string     // canonical path of the program; "" where the stage starts without it
	Args    []string   // its arguments, without the command
	Inner   inner.Plan // Stderr and Mask are filled in by Run
	Private bool       // start from a private copy of the mount table

	Parent     int                     // pidfd of the process whose end ends the command, or -1
	NewSession bool                    // the command leads a session that the terminal's signals do not reach
	Started    func(inner.Proof) error // called once the sandbox stands, before the command runs
	Said       *Said                   // gets what the command writes to standard error, or nil
}

// StartError says that the sandbox failed before the command could run.
type StartError struct {
	Err  error
	Bare bool // without bubblewrap
}

func (e *StartError) Error() string {
	if e.Bare {
		return "landlock: " + e.Err.Error()
	}
	return "bubblewrap: " + e.Err.Error()
}

func (e *StartError) Unwrap() error { return e.Err }

// forwarded are the signals that the supervisor passes on. Without SIGCONT a
// command that has stopped never goes on, nor ends by a SIGTERM; SIGALRM is what
// timeout -s ALRM sends, and the Go runtime ignores it.
var forwarded = []os.Signal{
	unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGCONT, unix.SIGALRM,
}

// Run runs the command to its end and returns the status to exit with. It fails
// with a [*StartError] when the command never ran, and with a
// [*launch.ExecError] when it could not be executed. The caller has locked its
// goroutine to the main thread, because bubblewrap dies with the thread that
// started it (prctl(2), PR_SET_PDEATHSIG).
func Run(s Sandbox) (status int, err error) {
	relay := listen()
	defer func() {
		relay.gone()
		if _, failed := errors.AsType[*StartError](err); failed {
			relay.stop() // else the launcher ends: that costs a quarter of a millisecond less
		}
	}()
	adopt(true)
	child, err := start(s)
	if err != nil {
		adopt(false)
		return 0, &StartError{err, s.Bwrap == ""}
	}
	defer child.close()
	relay.sandbox(child)
	// What can be done while bubblewrap works is done before the stage is ready.
	tty := openTerminal()
	defer tty.close()
	own, ownErr := os.Readlink("/proc/self/ns/mnt")
	proof, err := child.ready()
	if err == nil {
		err = child.alive()
	}
	if err == nil && !child.bare {
		err = elsewhere(proof, own, ownErr)
	}
	if err == nil {
		err = originals(s.Inner.Checks)
	}
	if err != nil {
		return relay.interrupted(), child.abandon(err)
	}
	adopt(false)
	relay.command(proof.PID, s.NewSession)
	if s.Parent >= 0 {
		go child.dieWith(s.Parent)
	}
	if s.Started != nil {
		if err := s.Started(proof); err != nil {
			return 0, child.abandon(err)
		}
	}
	gone := child.peer.Go()
	shed()
	status = child.wait()
	s.Said.finish()
	tty.restore()
	if gone != nil {
		return relay.interrupted(), &StartError{gone, child.bare}
	}
	if err := child.peer.ExecError(); err != nil {
		return 0, err
	}
	return status, nil
}

// elsewhere checks that the stage is in a mount namespace of its own: not in the
// launcher's, own, which could be read unless err is an error.
func elsewhere(proof inner.Proof, own string, err error) error {
	if err == nil && proof.MountNamespace == own {
		err = fmt.Errorf("%w: it has no mount namespace of its own", inner.ErrRefused)
	}
	return err
}

// originals checks that what the masks hide is still what the policy meant, as
// the stage has found it too, from its own side.
func originals(checks []bwrap.Check) error {
	for _, c := range checks {
		if c.State != bwrap.Masked && c.State != bwrap.Private {
			continue
		}
		info, err := hostfs.FS{}.Lstat(c.Path)
		if err != nil {
			return err
		}
		if info.ID != c.ID {
			return fmt.Errorf("%w: root %q was replaced while the sandbox was set up", inner.ErrRefused, c.Path)
		}
	}
	return nil
}

// child is bubblewrap while it runs.
type child struct {
	pid    int
	peer   inner.Peer
	stderr int // what bubblewrap itself says

	program string // its path
	bare    bool   // it is the stage itself
}

// stageEnv is the environment of bubblewrap and of the inner stage. The stage does
// one thing after the other: with one processor the Go runtime starts fewer threads
// for it, which have to end before the command can start.
var stageEnv = []string{"GOMAXPROCS=1"}

// start starts bubblewrap with its arguments and the plan in anonymous files,
// and with no variable of the caller's: one of the command's such as LD_PRELOAD
// would otherwise act on bubblewrap, outside the sandbox it is about to make.
func start(s Sandbox) (*child, error) {
	free := launch.FreeFrom(6, s.Inner.Keep)
	exeFD, argsFD, planFD, ctlFD, errFD, rootFD := free[0], free[1], free[2], free[3], free[4], free[5]

	stderr, err := launch.Memfd("bubblewrap stderr", nil)
	if err != nil {
		return nil, err
	}
	said, err := s.Said.open()
	if err != nil {
		return nil, err
	}
	peer, stage, err := inner.NewPeer()
	if err != nil {
		return nil, err
	}
	defer unix.Close(stage)

	// Bubblewrap must not die of a signal that the command handles, such as
	// the terminal's ^C: it starts with them blocked, and the inner stage gives
	// the command the mask that the launcher has now.
	old, err := blockForwarded()
	if err != nil {
		return nil, err
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	s.Inner.Stderr, s.Inner.Mask, s.Inner.Report, s.Inner.Root = errFD, inner.Mask(old), -1, rootFD

	given := newTable(slices.Max(append(free, s.Inner.Keep...)))
	defer given.close()
	given.lend(0, 0)
	given.lend(1, 1)
	given.lend(2, stderr)
	given.lend(errFD, said)
	given.lend(ctlFD, stage)
	for _, fd := range s.Inner.Keep {
		given.lend(fd, fd)
	}
	given.open(rootFD, openRoot)
	given.open(exeFD, openSelf)
	given.open(argsFD, func() (int, error) {
		return launch.Memfd("bubblewrap arguments", []byte(strings.Join(s.Args, "\x00")+"\x00"))
	})
	given.open(planFD, func() (int, error) { return launch.Memfd("inner plan", s.Inner.Encode()) })
	if given.err != nil {
		return nil, given.err
	}

	argv := []string{
		"bwrap", "--args", strconv.Itoa(argsFD), "--",
		"/proc/self/fd/" + strconv.Itoa(exeFD), inner.Word, strconv.Itoa(planFD), strconv.Itoa(ctlFD),
	}
	program := s.Bwrap
	if program == "" {
		program, argv = "/proc/self/exe", argv[4:]
	}
	pid, err := syscall.ForkExec(program, argv, &syscall.ProcAttr{
		Env:   stageEnv,
		Files: given.files,
		Sys:   &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL, Unshareflags: s.unshare()},
	})
	s.Said.begin()
	if err != nil {
		return nil, fmt.Errorf("starting %q: %w", program, err)
	}
	return &child{pid: pid, peer: peer, stderr: stderr, program: program, bare: s.Bwrap == ""}, nil
}

// blockForwarded blocks the signals that are passed on, and returns the mask of before.
func blockForwarded() (old unix.Sigset_t, err error) {
	var signals uint64
	for _, sig := range forwarded {
		signals |= 1 << (uint(sig.(syscall.Signal)) - 1)
	}
	block := inner.Sigset(signals)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &block, &old); err != nil {
		return old, fmt.Errorf("signal mask: %w", err)
	}
	return old, nil
}

// unshare returns the namespaces that bubblewrap starts in. A privileged launcher
// can give it a copy of the mount table that nothing propagates into: else a
// mount that the host makes later, below a shared one, arrives in the sandbox,
// where nothing masks it. A plain user has no right to.
func (s Sandbox) unshare() uintptr {
	if s.Private {
		return unix.CLONE_NEWNS // ForkExec makes what it then sees private
	}
	return 0
}

// dieWith kills the sandbox once the process of the pidfd has ended. The command
// dies with bubblewrap, and with its pid namespace, if it has one, all the rest.
func (c *child) dieWith(pidfd int) {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != unix.EINTR {
			unix.Kill(c.pid, unix.SIGKILL)
			return
		}
	}
}

func (c *child) close() {
	c.peer.Close()
	unix.Close(c.stderr)
}

// abandon ends a sandbox whose command has not started, and says why.
func (c *child) abandon(reason error) error {
	since := launch.Started(strconv.Itoa(c.pid)) // also of one that has ended and was not waited for
	unix.Kill(c.pid, unix.SIGKILL)
	c.wait()
	if !c.bare {
		endOrphans(c.program, since)
	}
	adopt(false)
	if text := c.said(); errors.Is(reason, inner.ErrGone) && text != "" {
		reason = errors.New(text)
	}
	return &StartError{reason, c.bare}
}

// ready waits for the stage, or for the end of bubblewrap.
func (c *child) ready() (inner.Proof, error) {
	// A kernel without pidfds (before Linux 5.3) waits for the stage alone.
	if pidfd, err := unix.PidfdOpen(c.pid, 0); err == nil {
		defer unix.Close(pidfd)
		if err := c.peer.Await(pidfd, readyLimit); err != nil {
			return inner.Proof{}, err
		}
	}
	return c.peer.Ready(readyLimit)
}

// alive fails if bubblewrap has ended. The stage, which dies with it from before
// it said that it is ready, would otherwise have missed that.
func (c *child) alive() error {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil {
		return fmt.Errorf("waitid: %w", err)
	}
	if info.Signo != 0 {
		return inner.ErrGone
	}
	return nil
}

// wait waits for bubblewrap and returns its status: the command's own, or 128
// and the number of a signal.
func (c *child) wait() int {
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(c.pid, &ws, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if ws.Signaled() {
			return launch.ExitSignal + int(ws.Signal())
		}
		return ws.ExitStatus()
	}
}

// said returns the last line that bubblewrap wrote on its standard error.
func (c *child) said() string {
	buf := make([]byte, 4096)
	n, err := unix.Pread(c.stderr, buf, 0)
	if err != nil || n <= 0 {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(buf[:n]), []byte("\n"))
	return string(bytes.TrimPrefix(lines[len(lines)-1], []byte("bwrap: ")))
}
