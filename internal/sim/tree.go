package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
)

// Tree is a model of a host's file system. It implements policy.FS. The builder
// methods make the missing directories above what they add, panic on a path
// that is not canonical, and return the tree so that calls can be chained.
type Tree struct {
	// CanReplace answers policy.FS's Replaceable. Nil means that the caller's
	// own rights let it change every directory, as uid 0 can.
	CanReplace func(dir string) bool

	// Errors holds what Lstat and Readlink say of a name instead of the truth.
	Errors map[string]error

	// FoldsCase makes names be found whatever their case; they are kept as they
	// were added. No two of the tree's paths may differ in case alone.
	FoldsCase bool

	nodes  map[string]node
	mounts map[string]bool
	lastID uint64
}

type node struct {
	info   policy.Info
	target string
}

// NewTree returns a tree that holds "/" and nothing else.
func NewTree() *Tree {
	t := &Tree{nodes: make(map[string]node), mounts: make(map[string]bool)}
	return t.put("/", policy.Dir, "")
}

// Dirs adds directories.
func (t *Tree) Dirs(paths ...string) *Tree { return t.Add(policy.Dir, paths...) }

// Files adds regular files.
func (t *Tree) Files(paths ...string) *Tree { return t.Add(policy.File, paths...) }

// Add adds paths of one kind. What is there already is replaced, but for a
// directory that is to be one.
func (t *Tree) Add(kind policy.Kind, paths ...string) *Tree {
	for _, path := range paths {
		t.put(path, kind, "")
	}
	return t
}

// Link adds a symlink. The target is kept as it is written.
func (t *Tree) Link(path, target string) *Tree { return t.put(path, policy.Symlink, target) }

// Clone returns a copy that can be changed by itself.
func (t *Tree) Clone() *Tree {
	c := *t
	c.nodes, c.mounts = maps.Clone(t.nodes), maps.Clone(t.mounts)
	return &c
}

// Mounts marks directories on which the host has mounted another file system. A
// remount of the mount above does not reach them.
func (t *Tree) Mounts(paths ...string) *Tree {
	t.Dirs(paths...)
	for _, path := range paths {
		t.mounts[path] = true
	}
	return t
}

func (t *Tree) put(path string, kind policy.Kind, target string) *Tree {
	parts := components(path)
	if path != "/"+strings.Join(parts, "/") {
		panic(fmt.Sprintf("sim: path %q is not canonical", path))
	}
	if len(parts) > 0 {
		up := path[:strings.LastIndexByte(path, '/')]
		if up == "" {
			up = "/"
		}
		if _, ok := t.nodes[up]; !ok {
			t.put(up, policy.Dir, "")
		}
		if t.nodes[up].info.Kind != policy.Dir {
			panic(fmt.Sprintf("sim: %q is below something that is not a directory", path))
		}
	}
	if old, ok := t.nodes[path]; ok && old.info.Kind == policy.Dir && kind == policy.Dir {
		return t
	}
	t.lastID++
	t.nodes[path] = node{policy.Info{Kind: kind, ID: policy.ID{Dev: 1, Ino: t.lastID}}, target}
	return t
}

// Paths returns every path of the tree in byte order.
func (t *Tree) Paths() []string { return slices.Sorted(maps.Keys(t.nodes)) }

// Kind returns what is at path, which is Missing where the tree holds nothing.
func (t *Tree) Kind(path string) policy.Kind { return t.nodes[path].info.Kind }

var errThroughLink = errors.New("sim: asked for a name through a symlink or a file")

// Lstat implements policy.FS. A name whose directory is a symlink or a file is
// an error: a walk that asks for one has lost its way.
func (t *Tree) Lstat(name string) (policy.Info, error) {
	own := t.own(name)
	n, err := t.node("lstat", own)
	if i := strings.LastIndexByte(own, '/') + 1; err == nil && own[i:] != name[i:] {
		n.info.Name = own[i:]
	}
	return n.info, err
}

// own returns name as the tree keeps it.
func (t *Tree) own(name string) string {
	if !t.FoldsCase {
		return name
	}
	for path := range t.nodes {
		if strings.EqualFold(path, name) {
			return path
		}
	}
	return name
}

// Readlink implements policy.FS.
func (t *Tree) Readlink(name string) (string, error) {
	n, err := t.node("readlink", t.own(name))
	if err == nil && n.info.Kind != policy.Symlink {
		err = &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return n.target, err
}

// Replaceable implements policy.FS.
func (t *Tree) Replaceable(dir string) bool { return t.CanReplace == nil || t.CanReplace(dir) }

func (t *Tree) node(op, name string) (node, error) {
	fail := func(err error) (node, error) { return node{}, &fs.PathError{Op: op, Path: name, Err: err} }
	if err := t.Errors[name]; err != nil {
		return fail(err)
	}
	for i := 1; i < len(name); i++ {
		up, ok := t.nodes[name[:i]]
		if name[i] == '/' && ok && up.info.Kind != policy.Dir {
			return fail(errThroughLink)
		}
	}
	n, ok := t.nodes[name]
	if !ok {
		return fail(fs.ErrNotExist)
	}
	return n, nil
}

// components splits an absolute path at its slashes.
func components(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// inside reports whether path is root or lies beneath it, and how many
// components root has; both are canonical. It shares nothing with package policy,
// whose own comparison it checks: it walks along both and counts the slashes, of
// which one must follow where root ends.
func inside(root, path string) (depth int, ok bool) {
	if root == "/" {
		return 0, true
	}
	for i := range len(root) {
		if i == len(path) || root[i] != path[i] {
			return 0, false
		}
		if root[i] == '/' {
			depth++
		}
	}
	return depth, len(path) == len(root) || path[len(root)] == '/'
}

// rebase returns the path that lies beneath to as path lies beneath from.
func rebase(path, from, to string) string {
	if from != "/" {
		path = path[len(from):]
	}
	switch {
	case to == "/" && path == "":
		return "/"
	case to == "/":
		return path
	case path == "/":
		return to
	}
	return to + path
}

// Fixed makes every directory of the tree one that the caller has no right to
// change, so that its links may be followed.
func (t *Tree) Fixed() *Tree {
	t.CanReplace = func(string) bool { return false }
	return t
}
