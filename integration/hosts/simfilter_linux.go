package main

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// namespaces are the flags of clone and unshare that make a new one.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// program is a filter as it grows.
type program []unix.SockFilter

// on answers one system call.
func (p *program) on(nr, answer uint32) {
	*p = append(*p,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: answer})
}

// onFlags answers one system call if its first argument has any of the flags.
func (p *program) onFlags(nr, flags, answer uint32) {
	*p = append(*p,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 4},
		unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}, // low half of args[0]
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: flags, Jf: 1},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: answer},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// filter installs on this thread what the flags ask for.
func (s sim) filter() error {
	answer := func(name string) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errnos[name]) }
	for _, name := range []string{s.landlock, s.userns, s.mounts} {
		if _, known := errnos[name]; name != "" && !known {
			return fmt.Errorf("no errno %q", name)
		}
	}
	p := program{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number
	listen := uintptr(0)
	for _, nr := range []uint32{unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF} {
		switch {
		case s.landlock != "":
			p.on(nr, answer(s.landlock))
		case s.abi > 0:
			p.on(nr, unix.SECCOMP_RET_USER_NOTIF)
			listen = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
		}
	}
	for _, ns := range []struct {
		errno string
		flags uint32
	}{{s.userns, unix.CLONE_NEWUSER}, {s.mounts, namespaces}} {
		if ns.errno == "" {
			continue
		}
		p.on(unix.SYS_CLONE3, answer("enosys")) // its flags are out of sight, and libraries fall back
		p.onFlags(unix.SYS_CLONE, ns.flags, answer(ns.errno))
		p.onFlags(unix.SYS_UNSHARE, ns.flags, answer(ns.errno))
	}
	if s.mounts != "" {
		for _, nr := range []uint32{
			unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_SETNS, unix.SYS_MOVE_MOUNT,
			unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_MOUNT_SETATTR,
		} {
			p.on(nr, answer(s.mounts))
		}
	}
	if len(p) == 1 {
		return nil
	}
	p = append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, listen, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	if listen == 0 {
		return nil
	}
	os.Unsetenv(listenerEnv)
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(fd)), nil, 0); err != nil {
		return err
	}
	unix.Close(3)
	return unix.Close(int(fd))
}
