package supervise

import (
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/launch"
)

// relay passes signals on to the command. Before there is one, a signal that
// would end the launcher ends the sandbox instead.
type relay struct {
	signals chan os.Signal
	heard   chan struct{} // closed once the launcher takes the signals
	early   atomic.Int32  // the signal that ended the sandbox before the command ran

	mu      sync.Mutex
	to      target
	waiting []syscall.Signal // came while there was nothing to pass them to
}

// target is a process that signals go to.
type target struct {
	pid     int  // 0: not there yet; -1: gone
	pidfd   int  // -1 where the kernel has none
	own     bool // whether it leads a session that the terminal's signals do not reach
	command bool // whether it is the command, or bubblewrap before that
}

// listen begins to take the signals that are passed on. Those that the launcher
// was started with ignored stay ignored, for the command too.
//
// The work is done beside the start of bubblewrap, because the Go runtime hands
// each signal from thread to thread until it is taken: for a goroutine that is
// locked to its thread that is a third of a millisecond (measured). A signal that
// comes before ends the launcher, and bubblewrap with it.
func listen() *relay {
	r := &relay{signals: make(chan os.Signal, 64), heard: make(chan struct{})}
	var take []os.Signal
	for _, sig := range forwarded {
		if !signal.Ignored(sig) {
			take = append(take, sig)
		}
	}
	go func() {
		if len(take) > 0 { // Notify would take every signal there is
			signal.Notify(r.signals, take...)
		}
		close(r.heard)
		for s := range r.signals {
			r.deliver(s.(syscall.Signal))
		}
	}()
	return r
}

func (r *relay) deliver(sig syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.to.pid {
	case 0:
		r.waiting = append(r.waiting, sig)
	case -1:
	default:
		r.pass(r.to, sig)
	}
}

// aim names the process that signals go to from now on.
func (r *relay) aim(to target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
	for _, sig := range r.waiting {
		r.pass(to, sig)
	}
	r.waiting = nil
}

func (r *relay) pass(to target, sig syscall.Signal) {
	switch {
	case !to.command && (sig == unix.SIGWINCH || sig == unix.SIGCONT):
	case !to.command:
		r.early.Store(int32(sig))
		unix.Kill(to.pid, unix.SIGKILL)
	case !to.own && fromTerminal(sig):
	case to.pidfd >= 0:
		unix.PidfdSendSignal(to.pidfd, sig, nil, 0)
	default:
		unix.Kill(to.pid, sig)
	}
}

// fromTerminal reports whether the terminal has sent sig to the command as well,
// because it sends these to every process of its foreground group, in which the
// command is too. To pass them on would make one ^C two.
func fromTerminal(sig syscall.Signal) bool {
	if sig != unix.SIGINT && sig != unix.SIGQUIT && sig != unix.SIGWINCH {
		return false
	}
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	foreground, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

// sandbox names bubblewrap as the process that a signal ends.
func (r *relay) sandbox(c *child) { r.aim(target{pid: c.pid, pidfd: -1}) }

// command names the command, once every signal is taken. It cannot have ended
// yet, because it waits for the supervisor, so the pidfd is its own.
func (r *relay) command(pid int, own bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		fd = -1
	}
	<-r.heard
	r.aim(target{pid: pid, pidfd: fd, command: true, own: own})
}

// gone says that there is nothing left to pass a signal to: its number may by
// now be that of another process.
func (r *relay) gone() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to, r.waiting = target{pid: -1}, nil
}

// interrupted returns the status of a launcher that a signal ended before the
// command ran, or 0.
func (r *relay) interrupted() int {
	if sig := r.early.Load(); sig != 0 {
		return launch.ExitSignal + int(sig)
	}
	return 0
}

// stop gives the signals back, for a launcher that goes on without bubblewrap.
func (r *relay) stop() {
	<-r.heard
	signal.Stop(r.signals)
	close(r.signals)
}
