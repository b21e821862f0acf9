package supervise

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/launch"
)

// relay passes signals on to the command. Before there is one, a signal that
// would end the launcher ends the sandbox instead.
type relay struct {
	signals chan os.Signal
	targets chan target
	early   atomic.Int32 // the signal that ended the sandbox before the command ran
}

// target is a process that signals go to.
type target struct {
	pid     int
	pidfd   int  // -1 where the kernel has none
	own     bool // whether it leads a session that the terminal's signals do not reach
	command bool // whether it is the command, or bubblewrap before that
}

func (r *relay) loop() {
	var to *target
	var waiting []syscall.Signal
	for {
		select {
		case t, ok := <-r.targets:
			if !ok {
				return
			}
			to = &t
			for _, sig := range waiting {
				r.pass(*to, sig)
			}
			waiting = nil
		case s := <-r.signals:
			sig := s.(syscall.Signal)
			if to == nil {
				waiting = append(waiting, sig)
				continue
			}
			r.pass(*to, sig)
		}
	}
}

func (r *relay) pass(to target, sig syscall.Signal) {
	switch {
	case !to.command && sig == unix.SIGWINCH:
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

// to names bubblewrap as the process that a signal ends.
func (r *relay) to(c *child) { r.targets <- target{pid: c.pid, pidfd: -1} }

// command names the command. It cannot have ended yet, because it waits for the
// supervisor, so the pidfd is its own.
func (r *relay) command(pid int, own bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		fd = -1
	}
	r.targets <- target{pid: pid, pidfd: fd, command: true, own: own}
}

// interrupted returns the status of a launcher that a signal ended before the
// command ran, or 0.
func (r *relay) interrupted() int {
	if sig := r.early.Load(); sig != 0 {
		return launch.ExitSignal + int(sig)
	}
	return 0
}

func (r *relay) stop() {
	signal.Stop(r.signals)
	close(r.targets)
}
