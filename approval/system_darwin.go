package approval

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// apart starts a program in a group of its own.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

// ended says whether a child has ended, and leaves it there to be waited for.
func ended(pid int) (bool, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && info.Proc.P_stat == zombie, err
}

const getTermios = unix.TIOCGETA

// setTermios sets the terminal's attributes and throws away what was typed and not
// read. It does not wait until what was written is shown: that may be never.
func setTermios(fd int, t *unix.Termios) error {
	const input = 1 // FREAD of <sys/fcntl.h>
	err := unix.IoctlSetTermios(fd, unix.TIOCSETA, t)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, input)
	}
	return err
}
