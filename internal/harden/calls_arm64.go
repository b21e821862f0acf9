//go:build linux

package harden

// archCall numbers what only this architecture has: nothing
// (include/uapi/asm-generic/unistd.h).
func archCall(string) (nr uint32, ok bool) { return 0, false }

const (
	auditArch = 0xC00000B7 // AUDIT_ARCH_AARCH64
	sysMknod  = ^uint32(0) // only mknodat
	hasFilter = true

	foreignCalls = 0 // one table only
)
