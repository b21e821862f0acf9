package landlock

import (
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/letta-confine/letta-confine/policy"
)

// Inside returns the ruleset that the inner stage lays over a bubblewrap
// sandbox. The mounts say what is hidden and what is read-only; the layer adds
// what mounts cannot: no process in it can mount, or trace a process outside and
// so reach the host's files through /proc/PID/root; a fifo in a read-only place
// cannot be written to; no device node is made.
//
// With isolate no process outside can be signalled, nor reached by an abstract
// socket, from ABI 6 on; without it a command may signal and talk to the servers
// that an earlier one started.
//
// It grants and takes nothing back: a denied or readonly root inside a writable
// place is the mounts' business alone. The paths are opened inside the sandbox.
// In the place of private ones there is an empty directory to write in.
func Inside(r policy.Resolved, abi int, isolate bool, private []string) Ruleset {
	rs := Ruleset{ABI: abi, Handled: Handled(abi)}
	if isolate && abi >= 6 {
		rs.Scoped = ll.ScopeSignal | ll.ScopeAbstractUnixSocket
	}
	everywhere := readRights | ll.AccessFSRefer
	if r.Default() == policy.ReadWrite {
		everywhere |= writeRights | ll.AccessFSIoctlDev
	}
	add := func(path string, rights Rights, optional bool) {
		rs.Grants = append(rs.Grants, Grant{Path: path, Rights: rights & rs.Handled, Optional: optional})
	}
	add("/", everywhere, false)
	if r.Default() == policy.ReadWrite {
		return rs
	}
	// The private /dev holds the harmless devices and nothing else.
	add("/dev", deviceRights, false)
	add("/dev/shm", readRights|writeRights, true)
	add("/proc", deviceRights&^ll.AccessFSIoctlDev, true)
	for _, path := range private {
		add(path, readRights|writeRights, false)
	}
	for _, l := range r.Layers() {
		if l.Access != policy.ReadWrite || l.Root.Kind == policy.Missing {
			continue
		}
		rights := readRights | writeRights
		if l.Root.Kind == policy.Device {
			rights |= ll.AccessFSIoctlDev
		}
		if l.Root.Kind != policy.Dir {
			rights &= fileRights
		}
		rs.Grants = append(rs.Grants, Grant{Path: l.Root.Path, Rights: rights & rs.Handled, ID: l.Root.ID})
	}
	return rs
}
