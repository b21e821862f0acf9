package bwrap

import "github.com/letta-confine/letta-confine/policy"

// harmless are the devices of the private /dev that every command may read and
// write, whatever the policy restricts.
var harmless = map[string]bool{
	"/dev/null": true, "/dev/zero": true, "/dev/full": true, "/dev/random": true, "/dev/urandom": true, "/dev/tty": true,
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
	case harmless[path]:
		e.add("--dev-bind", path, path)
		e.check(path, root.ID, Same)
	default:
		e.add("--ro-bind", path, path)
		e.check(path, root.ID, Fixed)
	}
}
