package landlock

import (
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/letta-confine/letta-confine/policy"
)

// Rights are Landlock's file system access rights, as the kernel numbers them
// (include/uapi/linux/landlock.h).
type Rights uint64

// The rights that each access of a policy stands for. Character and block
// devices are never made: as root, a node for the disk would read and write every
// file on it. Device ioctls are granted for /dev alone.
const (
	readRights  Rights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSResolveUnix
	writeRights Rights = ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	deviceRights Rights = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev

	// fileRights are the only ones that the kernel takes for what is not a
	// directory (security/landlock/fs.c, ACCESS_FILE).
	fileRights Rights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate |
		ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
)

// rightsSince is the number of rights that each ABI has, from ABI 1; a later one
// has at least as many (landlock(7), "Landlock ABI versions").
var rightsSince = [...]uint{13, 14, 15, 15, 16, 16, 16, 16, 17}

// Handled returns the rights that a kernel of the given ABI mediates, of those
// that this program knows.
func Handled(abi int) Rights {
	if abi < 1 {
		return 0
	}
	n := rightsSince[min(abi, len(rightsSince))-1]
	return 1<<n - 1
}

// rights translates what the policy says of a path.
func (e *emitter) rights(path string) Rights { return rightsOf(path, e.r.Decide(path)) }

// rightsAt is rights of a layer's own root, where the layer is the decision.
func rightsAt(l policy.Layer) Rights {
	return rightsOf(l.Root.Path, policy.Decision{Access: l.Access, Root: l.Root})
}

// rightsOf translates a decision about a path. Under /proc and /sys
// nothing is written: what root finds there steers the kernel. Under /dev nothing
// is had but by name, or by a root there: with the disk's own node goes every
// file on it.
func rightsOf(path string, d policy.Decision) Rights {
	inDev := policy.Holds("/dev", path)
	var rights Rights
	if d.Access >= policy.Read {
		rights |= readRights
		if inDev && (d.Root == nil || !policy.Holds("/dev", d.Root.Path)) {
			return ll.AccessFSReadDir
		}
	}
	if d.Access == policy.ReadWrite && !policy.Holds("/proc", path) && !policy.Holds("/sys", path) {
		rights |= writeRights
		if inDev {
			rights |= ll.AccessFSIoctlDev
		}
	}
	return rights
}

var rightNames = [...]string{
	"execute", "write-file", "read-file", "read-dir", "remove-dir", "remove-file", "make-char", "make-dir", "make-reg",
	"make-sock", "make-fifo", "make-block", "make-sym", "refer", "truncate", "ioctl-dev", "resolve-unix",
}

// String returns the names of the rights, as the kernel's documentation has
// them, separated by spaces.
func (r Rights) String() string {
	var names []string
	for i, name := range rightNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}
