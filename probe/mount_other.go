//go:build !linux

package probe

import "errors"

// privileged are the attempts whose control says nothing, because this system has
// no such thing.
var privileged = []string{"unmount", "remount writable", "read through /proc"}

// Only Linux backends are made of mounts.
func unmount(string) error { return errors.ErrUnsupported }
func remount(string) error { return errors.ErrUnsupported }
