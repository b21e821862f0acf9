//go:build linux

package harden

import "golang.org/x/sys/unix"

// archCall numbers what only this architecture has
// (arch/x86/entry/syscalls/syscall_64.tbl).
func archCall(name string) (nr uint32, ok bool) {
	switch name {
	case "iopl":
		return unix.SYS_IOPL, true
	case "ioperm":
		return unix.SYS_IOPERM, true
	}
	return 0, false
}

const (
	auditArch = 0xC000003E // AUDIT_ARCH_X86_64
	sysMknod  = unix.SYS_MKNOD
	hasFilter = true

	// foreignCalls is where the numbers of the x32 table begin
	// (__X32_SYSCALL_BIT).
	foreignCalls = 0x40000000
)
