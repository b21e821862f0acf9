package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// maxLinks is the kernel's own limit on the symlinks of one path (MAXSYMLINKS,
// include/linux/namei.h); beyond it the kernel says ELOOP.
const maxLinks = 40

// place is where a path leads.
type place struct {
	path     string // canonical
	info     Info
	existing string   // the deepest directory on the way that exists; path itself if that is one
	blocker  string   // the file that stands where a directory would have to be
	links    []string // canonical paths of the symlinks that were followed
}

// walker resolves paths and remembers what it saw, so that roots which share
// their upper components, as agents' directories do, cost one lstat each.
type walker struct {
	fsys FS
	seen map[string]Info
	last place // the directory that held what was walked to last; without a path before that
}

// newWalker returns a walker that has room for so many roots.
func newWalker(fsys FS, roots int) *walker {
	return &walker{fsys: fsys, seen: make(map[string]Info, 16+roots)}
}

func (w *walker) lstat(name string) (Info, error) {
	if info, ok := w.seen[name]; ok {
		return info, nil
	}
	info, err := w.fsys.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info = Info{Kind: Missing}
	case err != nil:
		return Info{}, err
	}
	w.seen[name] = info
	return info, nil
}

// walk resolves an absolute path as the kernel would: component by component,
// every symlink followed, ".." taken from where the link led and not from the
// text. Each component is taken in the kernel's own spelling, so that roots which
// differ in case alone, on a volume where that is no difference, are one root or
// lie in one another. When a component is missing the rest is appended as it
// stands, because a rule on that path must hold once it exists. A link whose target is missing
// counts as its target.
func (w *walker) walk(path string) (place, error) {
	at, rest, err := w.begin(path)
	wantDir := asksForDir(path)
	for rest != "" && err == nil {
		var name, target string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
		case "..":
			err = w.up(&at)
		default:
			target, err = w.down(&at, joinIn(path, at.path, name))
		}
		if target != "" {
			// The text of a link in the last place can ask for a directory too.
			wantDir = wantDir || rest == "" && asksForDir(target)
			rest = target + "/" + rest
		}
	}
	if err != nil {
		return place{}, err
	}
	if wantDir && at.info.Kind != Dir && at.info.Kind != Missing {
		return place{}, ErrNotDir
	}
	if dir := parent(at.path); w.seen[dir].Kind == Dir {
		w.last = place{path: dir, existing: dir, info: w.seen[dir]}
	}
	return at, nil
}

// up goes to the directory that holds the one that at is.
func (w *walker) up(at *place) (err error) {
	switch at.info.Kind {
	case Missing:
		return ErrDotDot
	case Dir:
		at.path = parent(at.path)
		at.existing = at.path
		at.info, err = w.lstat(at.path)
		return err
	default:
		return ErrNotDir
	}
}

// down goes to next, whose parent is the path of at. Where next is a symlink, it
// goes to where the link's target begins, and returns the target.
func (w *walker) down(at *place, next string) (target string, err error) {
	switch at.info.Kind {
	case Missing:
		at.path = next
		return "", nil
	case Dir:
	default:
		at.blocker = at.path
		at.path, at.info = next, Info{Kind: Missing}
		return "", nil
	}
	info, err := w.lstat(next)
	if err != nil {
		return "", err
	}
	if info.Name != "" {
		next, info.Name = join(at.path, info.Name), ""
		w.seen[next] = info
	}
	if info.Kind == Symlink {
		return w.follow(at, next)
	}
	at.path, at.info = next, info
	if info.Kind == Dir {
		at.existing = next
	}
	return "", nil
}

// follow goes to where the target of the symlink link begins: to the root directory, or
// nowhere, because at is the directory that holds the link.
func (w *walker) follow(at *place, link string) (target string, err error) {
	if len(at.links) == maxLinks {
		return "", ErrLoop
	}
	at.links = append(at.links, link)
	target, err = w.fsys.Readlink(link)
	switch {
	case err != nil:
		return "", err
	case target == "":
		return "", fmt.Errorf("symlink %q is empty", link)
	case target[0] == '/':
		at.path, at.existing = "/", "/"
		at.info, err = w.lstat("/")
	}
	return target, err
}

// begin returns where to begin the walk to a path, and what is left of it from
// there. Roots lie beside one another more often than not, and what was walked to
// is a canonical path, which leads to itself.
func (w *walker) begin(path string) (at place, rest string, err error) {
	if rest, ok := strings.CutPrefix(path, w.last.path+"/"); ok && len(w.last.path) > 1 {
		return w.last, rest, nil
	}
	at = place{path: "/", existing: "/"}
	at.info, err = w.lstat("/")
	return at, path, err
}

// asksForDir reports whether the kernel would insist on a directory: the path
// ends in a slash or in a dot that stands alone.
func asksForDir(path string) bool {
	return strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.")
}

// above returns the identities of the existing directories above a path that
// was walked. Writable roots have no use for them.
func (w *walker) above(l List, path string) []ID {
	if l.access() == ReadWrite {
		return nil
	}
	up := Ancestors(path)
	ids := make([]ID, 0, len(up))
	for _, dir := range up {
		if info := w.seen[dir]; info.Kind == Dir {
			ids = append(ids, info.ID)
		}
	}
	return ids
}

// clean removes empty components and "." from an absolute path. It keeps "..",
// which only walking can resolve.
func clean(path string) string {
	var out strings.Builder
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			out.WriteByte('/')
			out.WriteString(name)
		}
	}
	if out.Len() == 0 {
		return "/"
	}
	return out.String()
}

// Canonical returns the path that the kernel would use for an absolute path,
// whether or not something is there: every symlink followed, "." and ".."
// resolved. It fails on a link loop, and where a directory on the way cannot be
// searched. What it says is true at the moment of asking.
func Canonical(path string, fsys FS) (string, error) {
	if err, _ := checkLiteral(path); err != nil {
		return "", err
	}
	at, err := newWalker(fsys, 1).walk(path)
	return at.path, err
}

// Canonicals returns a function that is Canonical for a number of paths, and asks the
// file system about none twice: what it says is true at the moment of the first.
func Canonicals(fsys FS) func(path string) (string, error) {
	w := newWalker(fsys, 1)
	return func(path string) (string, error) {
		if err, _ := checkLiteral(path); err != nil {
			return "", err
		}
		at, err := w.walk(path)
		return at.path, err
	}
}

// Links returns the symlinks, by their canonical paths, that the kernel would follow
// for an absolute path.
func Links(path string, fsys FS) ([]string, error) {
	at, err := newWalker(fsys, 1).walk(path)
	return at.links, err
}
