package containment

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	for name, c := range mountCalls {
		calls[name] = c
	}
}

// mountCalls change what is mounted. Those that make a mount read the file
// through it, since a mount that shows nothing is no attack.
var mountCalls = map[string]call{
	"umount":     {1, func(p []string) error { return unix.Unmount(p[0], unix.MNT_DETACH) }},
	"remount-rw": {1, func(p []string) error { return unix.Mount("", p[0], "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	"bind":       {2, func(p []string) error { return unix.Mount(p[0], p[1], "", unix.MS_BIND, "") }},
	"move":       {2, func(p []string) error { return unix.Mount(p[0], p[1], "", unix.MS_MOVE, "") }},
	"tmpfs":      {1, func(p []string) error { return unix.Mount("tmpfs", p[0], "tmpfs", 0, "") }},
	"proc":       {1, func(p []string) error { return unix.Mount("proc", p[0], "proc", 0, "") }},
	"overlay": {2, func(p []string) error {
		return unix.Mount("overlay", p[1], "overlay", unix.MS_RDONLY, "lowerdir="+p[0]+":"+p[1])
	}},
	"open-tree": {2, func(p []string) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, p[0], unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return openat(fd, p[1], unix.O_RDONLY)
	}},
	"move-mount": {2, func(p []string) error {
		return unix.MoveMount(unix.AT_FDCWD, p[0], unix.AT_FDCWD, p[1], 0)
	}},
	"fsopen": {1, func(p []string) error {
		fd, err := unix.Fsopen(p[0], unix.FSOPEN_CLOEXEC)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	"setattr-rw": {1, func(p []string) error {
		return unix.MountSetattr(unix.AT_FDCWD, p[0], 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}},
	"pivot": {1, func(p []string) error {
		if err := unix.Mount(p[0], p[0], "", unix.MS_BIND, ""); err != nil {
			return err
		}
		return unix.PivotRoot(p[0], p[0])
	}},
	"chroot":   {1, func(p []string) error { return unix.Chroot(p[0]) }},
	"setns-of": {1, func(p []string) error { return setnsOf(number(p[0])) }},

	"by-handle": {2, byHandle},
	"fanotify": {1, func(p []string) error {
		fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC, unix.O_RDONLY)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_FILESYSTEM, unix.FAN_OPEN, unix.AT_FDCWD, p[0])
	}},
	"mknod-disk": {1, func(p []string) error { return unix.Mknod(p[0], unix.S_IFBLK|0o600, 0) }},
	"mknod-kmsg": {1, func(p []string) error { return unix.Mknod(p[0], unix.S_IFCHR|0o600, int(unix.Mkdev(1, 11))) }},
	"bpf":        {0, func([]string) error { return bpf() }},
	"userfault":  {0, func([]string) error { return userfault() }},
}

// setns enters a namespace. A mount namespace is only entered by a thread that
// shares its root and working directory with no other.
func setns(fd, kind int) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	return unix.Setns(fd, kind)
}

func setnsOf(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return setns(fd, unix.CLONE_NEWNS)
}

// byHandle opens a file by a handle that the attack made itself where it can
// name the file, and otherwise guessed: from the inode number, which listings
// above the mask give away. The mount is that of another file.
func byHandle(p []string) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, p[0], 0)
	if err != nil {
		// The errno of interest is that of the open: take any handle.
		if handle, _, err = unix.NameToHandleAt(unix.AT_FDCWD, p[1], 0); err != nil {
			return err
		}
	}
	mount, err := unix.Open(p[1], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(mount)
	fd, err := unix.OpenByHandleAt(mount, handle, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = readText(fd)
	return err
}

func bpf() error {
	var attr [72]byte // a map of one entry of four bytes
	copy(attr[:], []byte{2, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0})
	fd, _, errno := unix.Syscall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func userfault() error {
	const userModeOnly = 1
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|userModeOnly, 0, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}
