package hostfs

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/policy"
)

// openPath is nothing: macOS opens a directory only for who may read it.
const openPath = 0

// OpenPlain opens a file with no symlink anywhere in its path, so that what is
// opened is what the path says; /tmp, /var and /etc stand for /private/tmp and so
// on. The descriptor is closed at exec. O_NOFOLLOW_ANY is there from macOS 11, and
// Go needs 12.
func OpenPlain(path string, flags int, mode uint32) (int, error) {
	return unix.Open(systemLink(path), flags|unix.O_NOFOLLOW_ANY|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, mode)
}

// PathOf returns the path of an open file, as the kernel knows it now (F_GETPATH,
// fcntl(2)): links followed, the case and the normalization of each name as the
// volume stores it, /private/tmp/x for /tmp/x.
func PathOf(fd int) (string, error) {
	var buf [unix.PathMax]byte
	//lint:ignore SA1019 x/sys has no wrapper of fcntl that takes a buffer
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_GETPATH, uintptr(unsafe.Pointer(&buf[0])))
	if errno != 0 {
		return "", errno
	}
	return unix.ByteSliceToString(buf[:]), nil
}

// spelled adds to info what the kernel itself calls the file, and makes a link of
// a directory that a firmlink shows elsewhere: the kernel asks Seatbelt with the
// path that the firmlink gives it.
//
// Where the kernel does not say, the name stays as it was asked for. Seatbelt
// folds the case of literal and subpath on a volume that does (orbit#494), so
// that only how roots lie in one another is missed. A file with several hard
// links stays too: the kernel may answer with another of its names. Devices, fifos
// and sockets stay, because opening one can do something.
func spelled(name string, st *unix.Stat_t, info policy.Info) policy.Info {
	if firmlink(name) != "" {
		return policy.Info{Kind: policy.Symlink}
	}
	if info.Kind == policy.Device || info.Kind == policy.Other || info.Kind != policy.Dir && st.Nlink > 1 {
		return info
	}
	// O_EVTONLY does not keep a volume from being unmounted; O_NONBLOCK and
	// O_NOCTTY are for what has taken the file's place in the meantime.
	fd, err := unix.Open(name, unix.O_EVTONLY|unix.O_SYMLINK|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return info
	}
	defer unix.Close(fd)
	var now unix.Stat_t
	if unix.Fstat(fd, &now) != nil || now.Dev != st.Dev || now.Ino != st.Ino {
		return info
	}
	if own, err := PathOf(fd); err == nil {
		info.Name = ownName(name, own)
	}
	return info
}

// firmlink returns where a firmlink shows the same file, or "".
func firmlink(name string) string {
	other := otherPlace(name)
	if other == "" {
		return ""
	}
	var here, there unix.Stat_t
	if unix.Lstat(name, &here) != nil || unix.Lstat(other, &there) != nil || here.Dev != there.Dev || here.Ino != there.Ino {
		return ""
	}
	return other
}
