package seatbelt

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/policy"
)

// Exec replaces this process with sandbox-exec, which applies the plan and starts
// argv with env. It returns only when that failed: fs.ErrNotExist means that this
// macOS has no sandbox-exec. syscall.Exec is used because a bare execve would leak
// the raised limit on open files.
func Exec(p Plan, argv, env []string) error {
	return &os.PathError{Op: "exec", Path: Path, Err: syscall.Exec(Path, p.Argv(argv), env)}
}

// KernelPath returns the kernel's own spelling of an absolute path (F_GETPATH,
// fcntl(2)): links followed, but for one in the last place; the case and the
// normalization of each name as the volume stores it; /private/tmp/x for /tmp/x.
// Of a path that does not exist the part that does is spelled so and the rest kept
// as given: Seatbelt itself folds the case of literal and subpath on a volume that
// does (orbit#494). No spelling is made up here: folding a name ourselves could
// only ever be right for a deny.
func KernelPath(path string) (string, error) {
	at, rest, flags := path, "", unix.O_SYMLINK
	for {
		own, err := spell(at, flags)
		switch {
		case err == nil && rest == "":
			return own, nil
		case err == nil && own == "/":
			return rest, nil
		case err == nil:
			return own + rest, nil
		case at == "/" || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR):
			return "", &os.PathError{Op: "resolve", Path: path, Err: err}
		}
		up := policy.Ancestors(at)[0]
		rest = at[len(strings.TrimSuffix(up, "/")):] + rest
		at, flags = up, 0
	}
}

// spell opens with O_EVTONLY, which needs no right to read the file and does not
// keep a volume from being unmounted, and with O_NONBLOCK for the sake of fifos.
func spell(path string, flags int) (string, error) {
	fd, err := unix.Open(path, unix.O_EVTONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var buf [unix.PathMax]byte
	//lint:ignore SA1019 x/sys has no wrapper of fcntl that takes a buffer
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_GETPATH, uintptr(unsafe.Pointer(&buf[0])))
	if errno != 0 {
		return "", errno
	}
	return unix.ByteSliceToString(buf[:]), nil
}
