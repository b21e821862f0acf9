package supervise

import "golang.org/x/sys/unix"

// terminal is the controlling terminal's state before the command ran.
type terminal struct {
	fd    int // -1: there is none
	state unix.Termios
}

// openTerminal remembers the state of the controlling terminal, if there is one:
// a command that is killed, or that means harm, leaves it without echo.
func openTerminal() terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return terminal{fd: -1}
	}
	state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		unix.Close(fd)
		return terminal{fd: -1}
	}
	return terminal{fd, *state}
}

// restore puts the state back where the command changed it. It leaves a terminal
// alone whose foreground belongs to another job: to set it from the background
// would stop the supervisor (SIGTTOU, termios(3)).
func (t terminal) restore() {
	if t.fd < 0 {
		return
	}
	foreground, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil || foreground != unix.Getpgrp() {
		return
	}
	now, err := unix.IoctlGetTermios(t.fd, unix.TCGETS)
	if err == nil && *now != t.state {
		_ = unix.IoctlSetTermios(t.fd, unix.TCSETS, &t.state)
	}
}

func (t terminal) close() {
	if t.fd >= 0 {
		unix.Close(t.fd)
	}
}
