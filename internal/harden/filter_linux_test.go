package harden

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// data is struct seccomp_data: the number, the architecture and an argument that
// stands in each of the first three places.
type data struct {
	nr, arch uint32
	arg      uint64
}

// eval runs a program as the kernel would, and fails the test on what the kernel
// would refuse or never leave.
func eval(t *testing.T, p []unix.SockFilter, d data) uint32 {
	t.Helper()
	words := map[uint32]uint32{
		0: d.nr, 4: d.arch, 16: uint32(d.arg), 20: uint32(d.arg >> 32), 24: uint32(d.arg), 28: uint32(d.arg >> 32),
		32: uint32(d.arg), 36: uint32(d.arg >> 32),
	}
	var a uint32
	for pc := 0; pc < len(p); pc++ {
		in := p[pc]
		jump := func(taken bool) {
			if taken {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		}
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			word, ok := words[in.K]
			if !ok {
				t.Fatalf("instruction %d loads offset %d", pc, in.K)
			}
			a = word
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == in.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= in.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(a&in.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		default:
			t.Fatalf("instruction %d has code %#x", pc, in.Code)
		}
	}
	t.Fatalf("the program ends without an answer for %+v", d)
	return 0
}

// TestFilterAnswersEveryCall runs the filter for every number, with the
// arguments that matter, and compares it with the lists.
func TestFilterAnswersEveryCall(t *testing.T) {
	if !HasFilter {
		t.Skip("needs an architecture with a filter")
	}
	const (
		eperm  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		enosys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	args := []uint64{
		0, unix.S_IFREG, unix.S_IFIFO | 0o644, unix.S_IFSOCK, unix.S_IFCHR | 0o666, unix.S_IFBLK, 1<<32 | unix.S_IFCHR,
		0x5412, 0x541C, 1<<40 | 0x5412, 0x5413, unix.CLONE_NEWUSER, unix.CLONE_NEWUSER | unix.CLONE_NEWNS, unix.CLONE_NEWNS,
	}
	for bits := range 8 {
		o := Options{Privileged: bits&1 != 0, Keyrings: bits&2 != 0, NoUserNS: bits&4 != 0}
		p := Program(o)
		lists := slices.Clone(Denied)
		if o.Privileged {
			lists = append(lists, DeniedPrivileged...)
		}
		if o.Keyrings {
			lists = append(lists, DeniedIsolated...)
		}
		for nr := uint32(0); nr < 2048; nr++ {
			denied := slices.ContainsFunc(lists, func(s string) bool { n, ok := call(s); return ok && n == nr })
			for _, arg := range args {
				d := data{nr: nr, arch: auditArch, arg: arg}
				want := uint32(unix.SECCOMP_RET_ALLOW)
				kind := uint32(arg) & unix.S_IFMT
				switch {
				case denied,
					nr == unix.SYS_IOCTL && (uint32(arg) == 0x5412 || uint32(arg) == 0x541C),
					(nr == unix.SYS_MKNODAT || nr == sysMknod) && (kind == unix.S_IFCHR || kind == unix.S_IFBLK),
					o.NoUserNS && (nr == unix.SYS_CLONE || nr == unix.SYS_UNSHARE) && arg&unix.CLONE_NEWUSER != 0:
					want = eperm
				case o.NoUserNS && nr == unix.SYS_CLONE3:
					want = enosys
				}
				if got := eval(t, p, d); got != want {
					t.Fatalf("%+v: the filter answers %#x to %+v, want %#x", o, got, d, want)
				}
			}
		}
		if got := eval(t, p, data{nr: 0, arch: 1}); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("the filter answers %#x to another architecture", got)
		}
		if foreignCalls != 0 {
			if got := eval(t, p, data{nr: foreignCalls, arch: auditArch}); got != enosys {
				t.Errorf("the filter answers %#x to a number of another table", got)
			}
		}
		if len(p) > 255 {
			t.Errorf("the filter has %d instructions, and a jump spans at most 255", len(p))
		}
	}
}
