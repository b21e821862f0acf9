package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// The kernel's struct seccomp_notif and struct seccomp_notif_resp (seccomp_unotify(2)).
type (
	notification struct {
		id         uint64
		pid, flags uint32
		nr         int32
		arch       uint32
		ip         uint64
		args       [6]uint64
	}
	response struct {
		id    uint64
		val   int64
		errno int32
		flags uint32
	}
)

// answer answers Landlock calls as a kernel with the given version would, until
// nobody is left to ask. What that kernel would do, this one does.
func answer(listener, abi int) {
	for {
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		if errno == unix.EINTR || errno == unix.ENOENT {
			continue
		}
		if errno != 0 {
			return
		}
		r := response{id: n.id}
		version, refusal := older(n, abi)
		switch {
		case refusal != 0:
			r.errno = -int32(refusal)
		case version != 0:
			r.val = int64(version)
		default:
			r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		}
		unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
	}
}

// older is what an older kernel makes of a call: a version, a refusal, or, with
// both zero, what this kernel makes of it (security/landlock/syscalls.c, and
// Documentation/userspace-api/landlock.rst for what came with which version).
func older(n notification, abi int) (version int, refusal unix.Errno) {
	switch n.nr {
	case unix.SYS_LANDLOCK_CREATE_RULESET:
		const askVersion = 1
		switch flags := uint32(n.args[2]); {
		case flags == askVersion && n.args[0] == 0 && n.args[1] == 0:
			return abi, 0
		case flags != 0:
			return 0, unix.EINVAL
		}
		return 0, olderRuleset(n, abi)
	case unix.SYS_LANDLOCK_ADD_RULE:
		if kind := n.args[1]; n.args[3] != 0 || kind == 0 || kind > 2 || (kind == 2 && abi < 4) {
			return 0, unix.EINVAL
		}
	case unix.SYS_LANDLOCK_RESTRICT_SELF:
		if n.args[1] != 0 && abi < 7 {
			return 0, unix.EINVAL
		}
	}
	return 0, 0
}

// olderRuleset looks at the attributes of a ruleset.
func olderRuleset(n notification, abi int) unix.Errno {
	fs, net, scoped, known := uint64(1<<13-1), uint64(0), uint64(0), uint64(8)
	if abi >= 2 {
		fs |= ll.AccessFSRefer
	}
	if abi >= 3 {
		fs |= ll.AccessFSTruncate
	}
	if abi >= 4 {
		net, known = 1<<2-1, 16
	}
	if abi >= 5 {
		fs |= ll.AccessFSIoctlDev
	}
	if abi >= 6 {
		scoped, known = 1<<2-1, 24
	}
	size := n.args[1]
	if size < 8 {
		return unix.EINVAL
	}
	if size > uint64(os.Getpagesize()) {
		return unix.E2BIG
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", n.pid))
	if err != nil {
		return unix.EFAULT
	}
	defer memory.Close()
	attr := make([]byte, max(size, 24))
	if _, err := memory.ReadAt(attr[:size], int64(n.args[0])); err != nil {
		return unix.EFAULT
	}
	for _, b := range attr[min(known, size):size] {
		if b != 0 {
			return unix.E2BIG
		}
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(attr[8*i:]) }
	if word(0)&^fs != 0 || word(1)&^net != 0 || word(2)&^scoped != 0 {
		return unix.EINVAL
	}
	return 0
}
