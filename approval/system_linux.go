package approval

import "golang.org/x/sys/unix"

// ended says whether a child has ended, and leaves it there to be waited for.
func ended(pid int) (bool, error) {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err == unix.EINTR {
		return false, nil
	}
	return err == nil && info.Signo != 0, err
}
