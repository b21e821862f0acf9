package bwrap

import "github.com/letta-confine/letta-confine/policy"

// harmless reports whether path is a device of the private /dev that every command may
// read and write, whatever the policy restricts. No map, which every start would make.
func harmless(path string) bool {
	switch path {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty":
		return true
	}
	return false
}

// readOnly mounts a readonly root. One that holds the harmless devices must not
// take them away: on a read-only bind, which has no devices, they can be neither
// written nor read.
func (e *emitter) readOnly(root *policy.Root) {
	switch path := root.Path; {
	case path == "/dev":
		// The private one is sealed, and stands for it. Its /dev/shm is a tmpfs,
		// where a write would succeed and vanish: the host's is shown instead.
		e.check(path, policy.ID{}, Fixed)
		if e.r.Decide("/dev/shm").Access == policy.Read {
			e.add("--ro-bind-try", "/dev/shm", "/dev/shm")
			e.check("/dev/shm", policy.ID{}, Fixed)
		}
	case path == "/dev/pts" || path == "/dev/ptmx":
		// The sandbox has terminals of its own.
	case harmless(path):
		e.add("--dev-bind", path, path)
		e.check(path, root.ID, Same)
	default:
		e.add("--ro-bind", path, path)
		e.check(path, root.ID, Fixed)
	}
}
