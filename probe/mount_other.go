//go:build !linux

package probe

import "errors"

// Only Linux backends are made of mounts.
func unmount(string) error { return errors.ErrUnsupported }
func remount(string) error { return errors.ErrUnsupported }
