package harden

import (
	"cmp"
	"fmt"
	"slices"
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

// rule is what the filter does about one system call.
type rule struct {
	nr uint32
	do []unix.SockFilter // ends with a return; nil: the call is denied
}

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

// Program returns the filter (Denied, and what Filtered lists besides) as a
// classic BPF program. Calls of another architecture's table end the process:
// their numbers mean other calls.
//
// The numbers are searched by halves. On installing a filter the kernel runs it
// for every number there is, to learn which are always allowed
// (kernel/seccomp.c, seccomp_cache_prepare): with one comparison after another
// that took twice as long (measured: 80 microseconds of every start, now 43).
func Program(o Options) []unix.SockFilter {
	p := append(make([]unix.SockFilter, 0, 160),
		unix.SockFilter{Code: load, K: offArch},
		unix.SockFilter{Code: equal, K: auditArch, Jt: 1},
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_KILL_PROCESS},
		unix.SockFilter{Code: load, K: offNr},
	)
	if foreignCalls != 0 {
		p = append(p, unix.SockFilter{Code: above, K: foreignCalls, Jf: 1}, unix.SockFilter{Code: ret, K: none})
	}
	rules := rulesFor(o)
	slices.SortFunc(rules, func(a, b rule) int { return cmp.Compare(a.nr, b.nr) })
	return search(p, rules)
}

// rulesFor returns the rules, each number once, in any order.
func rulesFor(o Options) []rule {
	device := func(offMode uint32) []unix.SockFilter {
		return []unix.SockFilter{
			{Code: load, K: offMode},
			{Code: and, K: unix.S_IFMT},
			{Code: equal, K: unix.S_IFCHR, Jt: 1},
			{Code: equal, K: unix.S_IFBLK, Jf: 1},
			{Code: ret, K: deny},
			{Code: ret, K: allow},
		}
	}
	rules := append(make([]rule, 0, 64),
		rule{unix.SYS_IOCTL, []unix.SockFilter{
			{Code: load, K: offArg1},
			{Code: equal, K: tiocsti, Jt: 1},
			{Code: equal, K: tioclinux, Jf: 1},
			{Code: ret, K: deny},
			{Code: ret, K: allow},
		}},
		rule{unix.SYS_MKNODAT, device(offArg2)},
	)
	if sysMknod != ^uint32(0) {
		rules = append(rules, rule{sysMknod, device(offArg1)})
	}
	if o.NoUserNS {
		// The flags of clone3 lie in memory, where a filter cannot look; told
		// that there is no such call, the C library falls back to clone.
		rules = append(rules, rule{unix.SYS_CLONE3, []unix.SockFilter{{Code: ret, K: none}}})
		for _, nr := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
			rules = append(rules, rule{nr, []unix.SockFilter{
				{Code: load, K: offArg0},
				{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jf: 1},
				{Code: ret, K: deny},
				{Code: ret, K: allow},
			}})
		}
	}
	for _, name := range o.names() {
		if nr, ok := call(name); ok {
			rules = append(rules, rule{nr: nr})
		}
	}
	return rules
}

// search appends to p what finds the rule for the loaded number and does what it
// says, or allows the call. The rules are sorted, and at least one. A jump spans
// half of the program at most, and 255 instructions are the most it can.
func search(p []unix.SockFilter, rules []rule) []unix.SockFilter {
	n := len(rules)
	if first := rules[0]; n == 1 && first.do != nil {
		p = append(p, unix.SockFilter{Code: equal, K: first.nr, Jf: uint8(len(first.do))})
		p = append(p, first.do...)
		return append(p, unix.SockFilter{Code: ret, K: allow})
	}
	if n <= 4 && !slices.ContainsFunc(rules, func(r rule) bool { return r.do != nil }) {
		for i, r := range rules {
			p = append(p, unix.SockFilter{Code: equal, K: r.nr, Jt: uint8(n - 1 - i)})
		}
		p[len(p)-1].Jf = 1
		return append(p, unix.SockFilter{Code: ret, K: deny}, unix.SockFilter{Code: ret, K: allow})
	}
	fork := len(p)
	p = append(p, unix.SockFilter{Code: above, K: rules[n/2].nr})
	p = search(p, rules[:n/2])
	p[fork].Jt = uint8(len(p) - fork - 1)
	return search(p, rules[n/2:])
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
