package sim

import (
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
)

// Meaning is what a policy means on one host: [Model] for contents, and beside it
// what becomes of the names themselves, which a command could otherwise move away
// from under their rule. It shares nothing with package policy but its types.
type Meaning struct {
	p      policy.Policy
	tree   *Tree
	guards []string // denied and readonly roots
}

// NewMeaning returns the meaning of a policy whose roots are canonical. A base or
// writable root that is missing is no root: what the command made in its place,
// a link above all, would be the writable root of the next run.
func NewMeaning(p policy.Policy, tree *Tree) Meaning {
	missing := func(path string) bool { return tree.Kind(path) == policy.Missing }
	overruled := func(path string) bool { return slices.Contains(p.Writable, path) }
	m := Meaning{tree: tree, p: policy.Policy{
		BaseWritable:   slices.DeleteFunc(slices.Clone(p.BaseWritable), missing),
		Denied:         p.Denied,
		ReadOnly:       slices.DeleteFunc(slices.Clone(p.ReadOnly), overruled),
		Writable:       slices.DeleteFunc(slices.Clone(p.Writable), missing),
		RestrictWrites: p.RestrictWrites,
	}}
	m.guards = slices.Concat(m.p.Denied, m.p.ReadOnly)
	return m
}

// Access says what may be done with the content of path.
func (m Meaning) Access(path string) policy.Access { return Model(m.p, path) }

// Entry reports whether the name of path may be removed, renamed, or given to
// something else. It is a change to the directory, so that must be writable; and
// a denied or readonly root at or beneath path holds it where it is.
func (m Meaning) Entry(path string) bool {
	return path != "/" && m.Access(path) == policy.ReadWrite && m.Access(Above(path)) == policy.ReadWrite && !m.guarded(path)
}

// Create reports whether path may be made. It differs from Entry where nothing is
// yet: a directory above a missing root may be made.
func (m Meaning) Create(path string) bool {
	if m.tree.Kind(path) != policy.Missing {
		return m.Entry(path)
	}
	return m.Access(path) == policy.ReadWrite && m.Access(Above(path)) == policy.ReadWrite
}

// Shown reports whether the backends differ in what can be seen of path itself: a
// denied root, and a denied directory above a carve-out. A mask of bubblewrap's
// shows the carve-outs' names, Landlock every name, Seatbelt a metadata record.
func (m Meaning) Shown(path string) bool {
	if slices.Contains(m.p.Denied, path) {
		return true
	}
	for _, root := range slices.Concat(m.p.ReadOnly, m.p.Writable) {
		if _, ok := inside(path, root); ok && m.Access(path) == policy.None {
			return true
		}
	}
	return false
}

func (m Meaning) guarded(path string) bool {
	return slices.ContainsFunc(m.guards, func(root string) bool {
		_, ok := inside(path, root)
		return ok
	})
}

// Above returns the directory that holds the name of path; "/" is its own.
func Above(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// IsKernels reports whether path belongs to the trees that every backend treats
// in a manner of its own: the devices, and what the kernel shows of itself.
func IsKernels(path string) bool {
	for _, own := range []string{"/dev", "/proc", "/sys"} {
		if _, ok := inside(own, path); ok {
			return true
		}
	}
	return false
}
