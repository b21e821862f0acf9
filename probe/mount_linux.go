package probe

import "golang.org/x/sys/unix"

// privileged are the attempts that an unconfined user has no right to either, so
// that their control says nothing.
var privileged = []string{"unmount", "remount writable"}

// unmount tries to take a mask off. Without one there is nothing to unmount.
func unmount(path string) error { return unix.Unmount(path, unix.MNT_DETACH) }

// remount tries to make the mount that a path lies on writable.
func remount(path string) error {
	return unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND, "")
}
