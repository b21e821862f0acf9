package harden

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HasFilter reports whether this build has a system call filter.
const HasFilter = hasFilter

// Offsets in struct seccomp_data (seccomp(2)). Arguments are 64 bits each; their
// low halves come first on the little-endian architectures that have a filter.
const (
	offNr   = 0
	offArch = 4
	offArg0 = 16
	offArg1 = 16 + 8
	offArg2 = 16 + 16
)

// Program returns the filter (Denied, and what Filtered lists besides) as a
// classic BPF program. Calls of another architecture's table end the process:
// their numbers mean other calls.
func Program(o Options) []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		above = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		and   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K

		allow = unix.SECCOMP_RET_ALLOW
		deny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		none  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	p := []unix.SockFilter{
		{Code: load, K: offArch},
		{Code: equal, K: auditArch, Jt: 1},
		{Code: ret, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: offNr},
	}
	if foreignCalls != 0 {
		p = append(p, unix.SockFilter{Code: above, K: foreignCalls, Jf: 1}, unix.SockFilter{Code: ret, K: none})
	}
	// Each block is skipped when the number is another.
	device := func(nr uint32, offMode uint32) {
		p = append(p,
			unix.SockFilter{Code: equal, K: nr, Jf: 6},
			unix.SockFilter{Code: load, K: offMode},
			unix.SockFilter{Code: and, K: unix.S_IFMT},
			unix.SockFilter{Code: equal, K: unix.S_IFCHR, Jt: 1},
			unix.SockFilter{Code: equal, K: unix.S_IFBLK, Jf: 1},
			unix.SockFilter{Code: ret, K: deny},
			unix.SockFilter{Code: ret, K: allow},
		)
	}
	p = append(p,
		unix.SockFilter{Code: equal, K: unix.SYS_IOCTL, Jf: 5},
		unix.SockFilter{Code: load, K: offArg1},
		unix.SockFilter{Code: equal, K: tiocsti, Jt: 1},
		unix.SockFilter{Code: equal, K: tioclinux, Jf: 1},
		unix.SockFilter{Code: ret, K: deny},
		unix.SockFilter{Code: ret, K: allow},
	)
	if sysMknod != ^uint32(0) {
		device(sysMknod, offArg1)
	}
	device(unix.SYS_MKNODAT, offArg2)
	if o.NoUserNS {
		// The flags of clone3 lie in memory, where a filter cannot look; told
		// that there is no such call, the C library falls back to clone.
		p = append(p, unix.SockFilter{Code: equal, K: unix.SYS_CLONE3, Jf: 1}, unix.SockFilter{Code: ret, K: none})
		for _, nr := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
			p = append(p,
				unix.SockFilter{Code: equal, K: nr, Jf: 4},
				unix.SockFilter{Code: load, K: offArg0},
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jf: 1},
				unix.SockFilter{Code: ret, K: deny},
				unix.SockFilter{Code: ret, K: allow},
			)
		}
	}
	for _, name := range o.names() {
		if nr, ok := call(name); ok {
			p = append(p, unix.SockFilter{Code: equal, K: nr, Jf: 1}, unix.SockFilter{Code: ret, K: deny})
		}
	}
	return append(p, unix.SockFilter{Code: ret, K: allow})
}

// Filter installs the filter on the calling thread, for what it executes. The
// thread has no_new_privs. A build without a filter does nothing.
func Filter(o Options) error {
	if !HasFilter {
		return nil
	}
	program := Program(o)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}

// Terminal ioctls that push input into a terminal, for whoever reads it next
// (ioctl_tty(2)). The kernel looks at the low 32 bits of the command only, and so
// does the filter: a full comparison is passed by setting a high bit (measured).
const (
	tiocsti   = 0x5412
	tioclinux = 0x541C
)
