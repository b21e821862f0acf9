package dsh

import (
	"errors"
	"strings"
	"syscall"
)

// Strerror words an error as the C library of landlock-run does (musl's strerror),
// where the Go words differ in more than the first letter.
func Strerror(err error) string {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return err.Error()
	}
	switch errno {
	case syscall.EIO:
		return "I/O error"
	case syscall.ENOMEM:
		return "Out of memory"
	case syscall.EBUSY:
		return "Resource busy"
	case syscall.EMFILE:
		return "No file descriptors available"
	case syscall.ENAMETOOLONG:
		return "Filename too long"
	case syscall.ELOOP:
		return "Symbolic link loop"
	case syscall.EOVERFLOW:
		return "Value too large for data type"
	case syscall.EOPNOTSUPP:
		return "Not supported"
	case syscall.ENOMSG:
		return "No message of desired type"
	}
	text := errno.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}
