package probe

import "golang.org/x/sys/unix"

// unmount tries to take a mask off. Without one there is nothing to unmount.
func unmount(path string) error { return unix.Unmount(path, unix.MNT_DETACH) }

// remount tries to make the mount that a path lies on writable.
func remount(path string) error {
	return unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND, "")
}
