package sim

import (
	"fmt"

	"github.com/letta-confine/letta-confine/policy"
)

// The access rights of Landlock to files, as include/uapi/linux/landlock.h of
// the kernel numbers them, with the first ABI version that knows each.
const (
	Execute     uint64 = 1 << iota // ABI 1
	WriteFile                      // ABI 1
	ReadFile                       // ABI 1
	ReadDir                        // ABI 1; all that follow up to MakeSym are rights to a directory
	RemoveDir                      // ABI 1
	RemoveFile                     // ABI 1
	MakeChar                       // ABI 1
	MakeDir                        // ABI 1
	MakeReg                        // ABI 1
	MakeSock                       // ABI 1
	MakeFifo                       // ABI 1
	MakeBlock                      // ABI 1
	MakeSym                        // ABI 1
	Refer                          // ABI 2; a right to a directory
	Truncate                       // ABI 3
	IoctlDev                       // ABI 5
	ResolveUnix                    // ABI 9
)

const (
	allRights  = ResolveUnix<<1 - 1
	fileRights = Execute | WriteFile | ReadFile | Truncate | IoctlDev | ResolveUnix

	writesFile = WriteFile | Truncate
	changesDir = RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSock | MakeFifo | MakeSym
	makesNodes = MakeChar | MakeBlock
)

// Grant is one rule of a ruleset (LANDLOCK_RULE_PATH_BENEATH): Rights on Path
// and on all beneath it.
type Grant struct {
	Path   string
	Rights uint64
}

// Domain is what a task may do once it has restricted itself by one ruleset.
type Domain struct {
	handled uint64
	grants  []Grant
	tree    *Tree
}

// Landlock returns the domain of a ruleset that handles the rights and holds the
// grants. It fails where the kernel does (landlock_create_ruleset(2),
// landlock_add_rule(2)): for a right that no ABI knows, a rule that is empty or
// grants what is not handled, a path that does not exist, and a right to a
// directory granted on anything else.
func Landlock(handled uint64, grants []Grant, tree *Tree) (Domain, error) {
	if handled == 0 || handled&^allRights != 0 {
		return Domain{}, fmt.Errorf("sim: landlock: handled rights %#x", handled)
	}
	for _, g := range grants {
		kind := tree.Kind(g.Path)
		switch {
		case kind == policy.Missing || kind == policy.Symlink:
			return Domain{}, fmt.Errorf("sim: landlock: rule on %q, which is %v", g.Path, kind)
		case g.Rights == 0:
			return Domain{}, fmt.Errorf("sim: landlock: empty rule on %q", g.Path)
		case g.Rights&^handled != 0:
			return Domain{}, fmt.Errorf("sim: landlock: rule on %q grants %#x, which is not handled", g.Path, g.Rights&^handled)
		case kind != policy.Dir && g.Rights&^fileRights != 0:
			return Domain{}, fmt.Errorf("sim: landlock: rule on %q, a %v, grants rights %#x to a directory", g.Path, kind, g.Rights&^fileRights)
		}
	}
	return Domain{handled, grants, tree}, nil
}

// Allows reports whether each of the rights is allowed on path itself: it is not
// handled, or a grant on the path or on a directory above it holds it. Refer is
// the exception: a domain that does not handle it refuses it.
//
// Making, removing and renaming a name is asked of its directory, so ask Allows
// of the directory. For Refer that is necessary and not sufficient: the target
// must not gain rights by the move.
func (d Domain) Allows(path string, rights uint64) bool { return rights&^d.allowed(path) == 0 }

// AllowsAny reports whether at least one of the rights is allowed on path.
func (d Domain) AllowsAny(path string, rights uint64) bool { return rights&d.allowed(path) != 0 }

func (d Domain) allowed(path string) uint64 {
	allowed := ^(d.handled | Refer)
	for _, g := range d.grants {
		if _, ok := inside(g.Path, path); ok {
			allowed |= g.Rights
		}
	}
	return allowed
}

// Rename reports whether rename(2) is allowed to move src, which exists, to dst,
// over what is there. Link does so for link(2). A move between directories needs
// Refer in both, and dst must not have rights that src lacks: a file would gain
// them by being moved (security/landlock/fs.c, no_more_access).
func (d Domain) Rename(src, dst string) bool {
	takes, makes := RemoveFile, MakeReg
	if d.tree.Kind(src) == policy.Dir {
		takes, makes = RemoveDir, MakeDir
	}
	switch d.tree.Kind(dst) {
	case policy.Missing:
	case policy.Dir:
		makes |= RemoveDir
	default:
		makes |= RemoveFile
	}
	return d.Allows(Above(src), takes) && d.Allows(Above(dst), makes) && d.refers(src, dst)
}

// Link reports whether link(2) is allowed to give src, a file, the name dst.
func (d Domain) Link(src, dst string) bool {
	return d.Allows(Above(dst), MakeReg) && d.refers(src, dst)
}

func (d Domain) refers(src, dst string) bool {
	from, to := Above(src), Above(dst)
	if from == to {
		return true
	}
	gained := d.allowed(to) &^ d.allowed(src)
	if d.tree.Kind(src) != policy.Dir {
		gained &= fileRights
	}
	return d.Allows(from, Refer) && d.Allows(to, Refer) && gained == 0
}

// Entry reports whether every change of the name of path is allowed, and whether
// any is: making, removing and renaming within its directory.
func (d Domain) Entry(path string) (every, some bool) {
	return d.Allows(Above(path), changesDir), d.AllowsAny(Above(path), changesDir|makesNodes)
}

// Access reports whether path can be read, and whether it can be written, to the
// full: a directory listed, and every kind of entry made and removed in it but
// for devices; a file read, and overwritten and truncated. What does not exist
// could become either, and needs the rights of both.
func (d Domain) Access(path string) (read, write bool) {
	reads, writes := d.rights(path)
	return d.Allows(path, reads), d.Allows(path, writes)
}

// Leaks reports whether path can be read, and whether it can be changed, at all:
// by any one right; Execute counts as one, though the kernel wants ReadFile beside
// it to execute a file. On a domain that does not handle Truncate (ABI 1 and 2) every
// file can be changed.
func (d Domain) Leaks(path string) (read, write bool) {
	reads, writes := d.rights(path)
	if writes&changesDir != 0 {
		writes |= makesNodes
	}
	return d.AllowsAny(path, reads|Execute), d.AllowsAny(path, writes)
}

func (d Domain) rights(path string) (reads, writes uint64) {
	switch d.tree.Kind(path) {
	case policy.Dir:
		return ReadDir, changesDir
	case policy.Missing:
		return ReadDir | ReadFile, changesDir | writesFile
	}
	return ReadFile, writesFile
}
