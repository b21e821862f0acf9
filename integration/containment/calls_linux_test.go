package containment

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// call is one system call, or the few that make one step of an attack.
type call struct {
	args int
	do   func(p []string) error
}

// calls are what the helper can do. Where confinement fails, which is when it
// matters, none may harm the host: modes, owners and times are set to what they
// are, control files are opened and not written.
var calls = map[string]call{
	"read":       {1, func(p []string) error { return read(p[0]) }},
	"open-read":  {1, func(p []string) error { return open(p[0], unix.O_RDONLY|unix.O_NONBLOCK) }},
	"open-write": {1, func(p []string) error { return open(p[0], unix.O_WRONLY|unix.O_NONBLOCK) }},
	"open-both":  {1, func(p []string) error { return open(p[0], unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY) }},
	"open-trunc": {1, func(p []string) error { return open(p[0], unix.O_RDONLY|unix.O_TRUNC) }},
	"append":     {1, func(p []string) error { return write(p[0], unix.O_WRONLY|unix.O_APPEND) }},
	"create":     {1, func(p []string) error { return write(p[0], unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }},
	"list":       {1, func(p []string) error { _, err := os.ReadDir(p[0]); return err }},
	"stat":       {1, func(p []string) error { return unix.Stat(p[0], &unix.Stat_t{}) }},
	"access":     {1, func(p []string) error { return unix.Access(p[0], unix.F_OK) }},
	"readlink":   {1, func(p []string) error { _, err := unix.Readlink(p[0], make([]byte, 64)); return err }},
	"chdir":      {1, func(p []string) error { return unix.Chdir(p[0]) }},
	"mkdir":      {1, func(p []string) error { return unix.Mkdir(p[0], 0o755) }},
	"unlink":     {1, func(p []string) error { return unix.Unlink(p[0]) }},
	"rename":     {2, func(p []string) error { return unix.Rename(p[0], p[1]) }},
	"exchange": {2, func(p []string) error {
		return unix.Renameat2(unix.AT_FDCWD, p[0], unix.AT_FDCWD, p[1], unix.RENAME_EXCHANGE)
	}},
	"link":     {2, func(p []string) error { return unix.Link(p[0], p[1]) }},
	"link-fd":  {2, linkFD},
	"symlink":  {2, func(p []string) error { return unix.Symlink(p[0], p[1]) }},
	"truncate": {1, func(p []string) error { return unix.Truncate(p[0], 0) }},
	"reopen":   {1, reopen},
	"copy":     {2, copyRange},

	"chmod": {1, func(p []string) error {
		return keep(p[0], func(st unix.Stat_t) error { return unix.Chmod(p[0], st.Mode&0o7777) })
	}},
	"chown":       {1, func(p []string) error { return unix.Chown(p[0], os.Getuid(), -1) }},
	"utimes":      {1, utimes},
	"setxattr":    {1, func(p []string) error { return unix.Setxattr(p[0], "user.confine", []byte("1"), 0) }},
	"removexattr": {1, func(p []string) error { return unix.Removexattr(p[0], "user.confine") }},
	"setflags":    {1, setFlags},

	"flock": {1, func(p []string) error {
		return opened(p[0], func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	}},
	"lease":  {1, func(p []string) error { return opened(p[0], lease) }},
	"watch":  {1, watch},
	"handle": {1, func(p []string) error { _, _, err := unix.NameToHandleAt(unix.AT_FDCWD, p[0], 0); return err }},

	"fd-read":   {1, func(p []string) error { _, err := unix.Read(number(p[0]), make([]byte, 1)); return err }},
	"fd-write":  {1, func(p []string) error { _, err := unix.Write(number(p[0]), []byte("x")); return err }},
	"fd-openat": {2, func(p []string) error { return openat(number(p[0]), p[1], unix.O_RDONLY) }},
	"fd-chdir":  {2, fdChdir},
	"fd-setns":  {1, func(p []string) error { return setns(number(p[0]), unix.CLONE_NEWNS) }},

	// steps that are no attack of their own
	"wait": {1, func(p []string) error { return wait(p[0], 20*time.Second) }},
	"mark": {1, func(p []string) error { return os.WriteFile(p[0], nil, 0o666) }},
}

// callsMain makes the calls that its arguments name, each followed by its
// arguments, and prints "ok" or the name of the errno, one line for each.
func callsMain(args []string) int {
	for len(args) > 0 {
		c, ok := calls[args[0]]
		if !ok || len(args) <= c.args {
			fmt.Fprintf(os.Stderr, "no such call: %q\n", args)
			return 2
		}
		fmt.Println(errnoName(c.do(args[1 : 1+c.args])))
		args = args[1+c.args:]
	}
	return 0
}

func errnoName(err error) string {
	switch e := err.(type) {
	case nil:
		return "ok"
	case unix.Errno:
		return unix.ErrnoName(e)
	case *os.PathError:
		return errnoName(e.Err)
	case *os.SyscallError:
		return errnoName(e.Err)
	}
	return fmt.Sprintf("%q", err.Error())
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func open(path string, flags int) error { return openat(unix.AT_FDCWD, path, flags) }

func openat(dir int, path string, flags int) error {
	fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// opened runs f on a read-only descriptor.
func opened(path string, f func(fd int) error) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd)
}

func read(path string) error {
	return opened(path, func(fd int) error { _, err := unix.Read(fd, make([]byte, 1)); return err })
}

func write(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("x"))
	return err
}

func keep(path string, f func(st unix.Stat_t) error) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	return f(st)
}

func utimes(p []string) error {
	return keep(p[0], func(st unix.Stat_t) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, p[0], []unix.Timespec{st.Atim, st.Mtim}, 0)
	})
}

// linkFD gives a file that is open, and no more, a second name.
func linkFD(p []string) error {
	fd, err := unix.Open(p[0], unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, p[1], unix.AT_SYMLINK_FOLLOW)
}

// reopen opens a file for reading, and that again for writing.
func reopen(p []string) error {
	return opened(p[0], func(fd int) error { return open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR) })
}

func copyRange(p []string) error {
	return opened(p[0], func(from int) error {
		to, err := unix.Open(p[1], unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(to)
		_, err = unix.CopyFileRange(from, nil, to, nil, 1, 0)
		return err
	})
}

// setFlags sets a file's flags (chattr) to what they are.
func setFlags(p []string) error {
	return opened(p[0], func(fd int) error {
		flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags)
	})
}

func lease(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	return err
}

// watch waits for the name of a file that somebody writes in a directory.
func watch(p []string) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(fd, p[0], unix.IN_CREATE)
	return err
}

func fdChdir(p []string) error {
	if err := unix.Fchdir(number(p[0])); err != nil {
		return err
	}
	return read(p[1])
}

// wait waits until a file is there, and looks once more after the limit: the process
// may have been stopped since it last did.
func wait(path string, limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(2 * time.Millisecond) {
		last := time.Now().After(deadline)
		if _, err := os.Lstat(path); err == nil || last {
			return err
		}
	}
}

// readText returns the text of a file, up to a kilobyte.
func readText(fd int) ([]byte, error) {
	buf := make([]byte, 1024)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(buf[:n]), nil
}
