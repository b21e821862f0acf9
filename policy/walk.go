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
	if err != nil {
		return place{}, err
	}
	wantDir := asksForDir(path)
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch {
		case name == "" || name == ".":
			continue
		case name == "..":
			if at.info.Kind == Missing {
				return place{}, ErrDotDot
			}
			if at.info.Kind != Dir {
				return place{}, ErrNotDir
			}
			at.path = parent(at.path)
			at.existing = at.path
			if at.info, err = w.lstat(at.path); err != nil {
				return place{}, err
			}
			continue
		}
		next := joinIn(path, at.path, name)
		if at.info.Kind == Missing {
			at.path = next
			continue
		}
		if at.info.Kind != Dir {
			at.blocker = at.path
			at.path, at.info = next, Info{Kind: Missing}
			continue
		}
		info, err := w.lstat(next)
		if err != nil {
			return place{}, err
		}
		if info.Name != "" {
			next, info.Name = join(at.path, info.Name), ""
			w.seen[next] = info
		}
		if info.Kind != Symlink {
			at.path, at.info = next, info
			if info.Kind == Dir {
				at.existing = next
			}
			continue
		}
		if len(at.links) == maxLinks {
			return place{}, ErrLoop
		}
		at.links = append(at.links, next)
		target, err := w.fsys.Readlink(next)
		if err != nil {
			return place{}, err
		}
		if target == "" {
			return place{}, fmt.Errorf("symlink %q is empty", next)
		}
		if target[0] == '/' {
			at.path, at.existing = "/", "/"
			if at.info, err = w.lstat("/"); err != nil {
				return place{}, err
			}
		}
		// The text of a link in the last place can ask for a directory too.
		wantDir = wantDir || rest == "" && asksForDir(target)
		rest = target + "/" + rest
	}
	if wantDir && at.info.Kind != Dir && at.info.Kind != Missing {
		return place{}, ErrNotDir
	}
	if dir := parent(at.path); w.seen[dir].Kind == Dir {
		w.last = place{path: dir, existing: dir, info: w.seen[dir]}
	}
	return at, nil
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
