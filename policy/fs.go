package policy

// FS is what Resolve asks of a file system. The real one is internal/hostfs;
// tests bring a tree of their own.
type FS interface {
	// Lstat says what name is, without following a link in its last component.
	// A name that does not exist gives an error that is fs.ErrNotExist.
	Lstat(name string) (Info, error)

	// Readlink returns the text of the symlink name.
	Readlink(name string) (string, error)

	// Replaceable reports whether the caller's own rights would let it add,
	// rename or remove entries of dir, or give itself that right. It speaks of
	// modes, owners and privilege; the policy is not its business.
	Replaceable(dir string) bool
}

// Kind is what a root is. Backends differ in how they hide or show each kind.
type Kind uint8

// The kinds of a root. A Symlink is met on the way only: a root is never one.
const (
	Missing Kind = iota // nothing is there
	Dir
	File
	Device  // a block or character device
	Other   // a fifo or a socket
	Symlink // never the kind of a Root
)

// String returns the word that reports use.
func (k Kind) String() string {
	return [...]string{"missing", "directory", "file", "device", "other", "symlink"}[k]
}

// ID tells one file from every other on this host at this moment: the device
// and inode numbers of stat(2). The zero ID is that of a missing root.
type ID struct{ Dev, Ino uint64 }

// Info is what FS.Lstat says of a name.
type Info struct {
	Kind Kind
	ID   ID

	// Name is the kernel's own spelling of the last component, where that is
	// not the one asked for: a volume that does not tell upper case from lower,
	// or one Unicode normalization from another, finds a file by all of them.
	// Empty means as asked.
	Name string
}
