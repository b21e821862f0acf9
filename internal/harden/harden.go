// Package harden holds what both Linux backends take from a command beyond its
// paths: capabilities and system calls, each as data in one place.
//
// A mount namespace or a Landlock domain says what paths mean. Root's
// capabilities reach around both: CAP_SYS_ADMIN unmounts a mask, CAP_SYS_PTRACE
// reads through /proc/PID/root, CAP_DAC_READ_SEARCH opens by file handle, and
// CAP_MKNOD makes the disk's own node. They go; what package managers, su and
// chown need stays.
//
// # Limits
//
// Uid 0 still owns root's files: what the policy leaves writable, it can write.
package harden

// Capability is one Linux capability (capabilities(7)).
type Capability struct {
	Name string // as bwrap spells it
	Bit  uint   // as include/uapi/linux/capability.h numbers it
}

// Kept are the capabilities that a privileged command keeps. Each was put back
// because ordinary work as root needs it (chown, other users' files, su and
// setpriv, low ports, ping, setcap) and no attack on a mask, a read-only mount or
// a domain uses it.
var Kept = []Capability{
	{"CAP_CHOWN", 0},
	{"CAP_DAC_OVERRIDE", 1},
	{"CAP_FOWNER", 3},
	{"CAP_FSETID", 4},
	{"CAP_KILL", 5},
	{"CAP_SETGID", 6},
	{"CAP_SETUID", 7},
	{"CAP_NET_BIND_SERVICE", 10},
	{"CAP_NET_RAW", 13},
	{"CAP_SETFCAP", 31},
}

// SetPCap lets a stage of the launcher empty the bounding set. It never reaches
// the command.
var SetPCap = Capability{"CAP_SETPCAP", 8}

// Mask returns the bit set of caps.
func Mask(caps []Capability) uint64 {
	var m uint64
	for _, c := range caps {
		m |= 1 << c.Bit
	}
	return m
}

// Within returns those of caps that are in the bit set held.
func Within(caps []Capability, held uint64) []Capability {
	var in []Capability
	for _, c := range caps {
		if held&(1<<c.Bit) != 0 {
			in = append(in, c)
		}
	}
	return in
}
