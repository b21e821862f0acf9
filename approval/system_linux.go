package approval

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// apart starts a program in a group of its own. It ends with the thread that starts
// it, which is the launcher's first: also after a SIGKILL nobody goes on asking.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ended says whether a child has ended, and leaves it there to be waited for.
func ended(pid int) (bool, error) {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err == unix.EINTR {
		return false, nil
	}
	return err == nil && info.Signo != 0, err
}

const getTermios = unix.TCGETS

// setTermios sets the terminal's attributes and throws away what was typed and not
// read. It does not wait until what was written is shown: that may be never.
func setTermios(fd int, t *unix.Termios) error {
	err := unix.IoctlSetTermios(fd, unix.TCSETS, t)
	if err == nil {
		err = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH)
	}
	return err
}
