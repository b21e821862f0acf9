package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/harden"
)

// call is one system call that the helper makes.
type call struct {
	args int // paths that it takes
	do   func(p []string) error
}

// calls are the system calls that tests speak of. Each does one thing, so that
// its errno is that thing's answer.
//
// A test must not harm the host when confinement fails, which is when it matters:
// behind a mask lies the host's own /dev/null. So modes and times are set to what
// they are, and the device node that is made is that of no device.
var calls = map[string]call{
	"read":       {1, func(p []string) error { return open(p[0], unix.O_RDONLY, true) }},
	"open-read":  {1, func(p []string) error { return open(p[0], unix.O_RDONLY|unix.O_NONBLOCK, false) }},
	"open-write": {1, func(p []string) error { return open(p[0], unix.O_WRONLY|unix.O_NONBLOCK, false) }},
	"open-both":  {1, func(p []string) error { return open(p[0], unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, false) }},
	"append":     {1, func(p []string) error { return write(p[0], unix.O_WRONLY|unix.O_APPEND) }},
	"create":     {1, func(p []string) error { return write(p[0], unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }},
	"stat":       {1, func(p []string) error { return unix.Stat(p[0], &unix.Stat_t{}) }},
	"list":       {1, func(p []string) error { _, err := names(p[0]); return err }},
	"chdir":      {1, func(p []string) error { return unix.Chdir(p[0]) }},
	"unlink":     {1, func(p []string) error { return unix.Unlink(p[0]) }},
	"rmdir":      {1, func(p []string) error { return unix.Rmdir(p[0]) }},
	"mkdir":      {1, func(p []string) error { return unix.Mkdir(p[0], 0o755) }},
	"mkfifo":     {1, func(p []string) error { return unix.Mkfifo(p[0], 0o600) }},
	"mknod-disk": {1, func(p []string) error { return unix.Mknod(p[0], unix.S_IFBLK|0o600, 0) }},
	"rename":     {2, func(p []string) error { return unix.Rename(p[0], p[1]) }},
	"link":       {2, func(p []string) error { return unix.Link(p[0], p[1]) }},
	"symlink":    {2, func(p []string) error { return unix.Symlink(p[0], p[1]) }},
	"truncate":   {1, func(p []string) error { return unix.Truncate(p[0], 0) }},
	"chmod":      {1, func(p []string) error { return chmod(p[0]) }},
	"chown":      {1, func(p []string) error { return unix.Chown(p[0], os.Getuid(), -1) }},
	"utimes":     {1, func(p []string) error { return utimes(p[0]) }},
	"forge":      {1, func(p []string) error { return forge(p[0]) }},
	"connect":    {1, func(p []string) error { return connect(p[0]) }},

	// What a process does to itself.
	"no-new-privs": {0, func([]string) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
	"filter":       {0, func([]string) error { return harden.Filter(harden.Options{}) }},
	"undumpable":   {0, func([]string) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},

	// These need CAP_SYS_ADMIN; the control makes them in a mount namespace of
	// its own.
	"umount":      {1, func(p []string) error { return unix.Unmount(p[0], unix.MNT_DETACH) }},
	"mount-tmpfs": {1, func(p []string) error { return unix.Mount("tmpfs", p[0], "tmpfs", 0, "") }},
	"remount-rw":  {1, func(p []string) error { return unix.Mount("", p[0], "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	"bind":        {2, func(p []string) error { return unix.Mount(p[0], p[1], "", unix.MS_BIND, "") }},
	"open-tree": {1, func(p []string) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, p[0], unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
}

// callsMain makes the calls that its arguments name, each followed by its paths,
// and prints "ok" or the name of the errno, one line for each.
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

// namesMain prints the names in a directory, sorted, or the errno.
func namesMain(args []string) int {
	list, err := names(args[0])
	if err != nil {
		fmt.Println(errnoName(err))
		return 1
	}
	fmt.Println(strings.Join(list, " "))
	return 0
}

func errnoName(err error) string {
	if err == nil {
		return "ok"
	}
	if errno, ok := err.(unix.Errno); ok {
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

func open(path string, flags int, read bool) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if read {
		_, err = unix.Read(fd, make([]byte, 1))
	}
	return err
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

func chmod(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	return unix.Chmod(path, st.Mode&0o7777)
}

func utimes(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{st.Atim, st.Mtim}, 0)
}

func names(dir string) ([]string, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var list []string
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			slices.Sort(list)
			return list, nil
		}
		_, _, list = unix.ParseDirent(buf[:n], -1, list)
	}
}

func connect(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

// forge writes a policy that restricts nothing but one file.
func forge(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(`{"version":1,"readonlyRoots":["/etc/hostname"]}`))
	return err
}
