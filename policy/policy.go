// Package policy holds the language in which a caller says what a command may
// read and write, and the one rule that gives a policy its meaning.
//
// A [Policy] is what the caller wrote: five lists of roots and a switch. A
// [Resolved] is the same policy in the kernel's own spelling of every path; only
// [Resolve] makes one, and every backend takes nothing else. [Resolved.Decide]
// answers for one path; [Resolved.Layers] is the same answer for all paths, in
// the order in which a backend has to set it up. No other package orders roots
// or weighs one against another.
//
// # Limits
//
// The vocabulary is file effects: nothing here speaks of the network, of
// processes or of resources. The package never touches the file system; what
// it needs to know comes through [FS], and is true at the moment of asking only.
// A hard link made beforehand gives an inode a second path that no root names.
package policy

// Policy is a policy as the caller wrote it. Paths are bytes: they need not be
// UTF-8, and no character in them has a meaning but the slash.
type Policy struct {
	BaseWritable   []string // roots that are writable although RestrictWrites holds
	Denied         []string // roots that are neither read nor written
	ReadOnly       []string // roots that are read and not written
	Writable       []string // roots that are read and written
	RestrictWrites bool     // whether a path that no root holds is read-only
}

// Version is the one version of the policy language that Parse understands. A
// policy that names none has this one.
const Version = 1

// List names one of the lists of a Policy.
type List uint8

// The lists, in the order in which a policy file is written.
const (
	BaseWritable List = iota
	Denied
	ReadOnly
	Writable
	lists
)

var listNames = [lists]struct{ field, flag string }{
	BaseWritable: {"baseWritableRoots", "--base-writable"},
	Denied:       {"deniedRoots", "--deny"},
	ReadOnly:     {"readonlyRoots", "--read-only"},
	Writable:     {"writableRoots", "--writable"},
}

// String returns the name of l as a policy file spells it: "writableRoots".
func (l List) String() string { return listNames[l].field }

// Flag returns the name of l as the command line spells it: "--writable".
func (l List) Flag() string { return listNames[l].flag }

// Lists returns every list, in the order in which a policy file is written.
func Lists() []List { return []List{BaseWritable, Denied, ReadOnly, Writable} }

// Roots returns the paths that the policy holds in l, as they were written.
func (p Policy) Roots(l List) []string { return *p.list(l) }

func (p *Policy) list(l List) *[]string {
	switch l {
	case BaseWritable:
		return &p.BaseWritable
	case Denied:
		return &p.Denied
	case ReadOnly:
		return &p.ReadOnly
	case Writable:
		return &p.Writable
	}
	panic("policy: no such list")
}

// Add appends path to l. The path is taken literally: a glob, a dollar or a
// tilde in it is a byte like any other. It fails with a [*RootError] when path
// is empty, relative or holds a NUL.
func (p *Policy) Add(l List, path string) error {
	if err, hint := checkLiteral(path); err != nil {
		return &RootError{List: l, Path: path, Flag: true, Err: err, Fix: hint}
	}
	roots := p.list(l)
	*roots = append(*roots, path)
	return nil
}

// Merge appends the lists of q to those of p. Writes are restricted when either
// policy restricts them.
func (p *Policy) Merge(q Policy) {
	for _, l := range Lists() {
		roots := p.list(l)
		*roots = append(*roots, q.Roots(l)...)
	}
	p.RestrictWrites = p.RestrictWrites || q.RestrictWrites
}

// Access is what a command may do below a root. The order is that of inclusion:
// a greater Access allows all that a smaller one does.
type Access uint8

// The three accesses of the policy language.
const (
	None      Access = iota // neither read nor list nor write
	Read                    // read and list
	ReadWrite               // read, list, create, write, remove, rename
)

// String returns "none", "read" or "read-write".
func (a Access) String() string { return [...]string{"none", "read", "read-write"}[a] }

// access is what each list says of its roots.
func (l List) access() Access {
	switch l {
	case Denied:
		return None
	case ReadOnly:
		return Read
	}
	return ReadWrite
}
