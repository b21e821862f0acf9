package policy

import (
	"cmp"
	"fmt"
	"slices"
)

// Root is one root of a policy after Resolve.
type Root struct {
	List  List
	Index int    // its place in the list as the caller wrote it, from 0
	Given string // as the caller wrote it
	Path  string // canonical
	Kind  Kind
	ID    ID

	// Creatable is set on a missing root that the command could bring into
	// being, because the nearest directory above it is writable under the policy.
	Creatable bool

	// NotDir is set on a missing root that has a file where a directory would
	// have to be.
	NotDir bool

	// Blocker is that file, where NotDir is set.
	Blocker string

	// Existing is the deepest directory at or above Path that exists.
	Existing string

	depth int // of Path
	links []string
	above []ID
}

// Above returns the identities of the directories above a denied or readonly
// root, from the nearest to "/", as far as they exist. Whoever grants access to
// one of them under another name grants access to the root.
func (r Root) Above() []ID { return r.above }

// Access returns what the policy says of the root itself.
func (r Root) Access() Access { return r.List.access() }

// Resolved is a policy in canonical form. Only Resolve makes one; the zero value
// is not a policy, and asking it anything panics.
type Resolved struct {
	def    Access
	roots  []*Root        // in emission order, one for each canonical path
	at     map[string]int // where in roots a canonical path is
	layers []int          // which of roots change something
	made   bool
}

// Resolve brings a policy into canonical form and checks that it means
// something.
//
// Every root is resolved as the kernel would do it ([Canonical]). Roots of equal
// path are folded: writable over readonly, any list over the base. It fails with
// a [*RootError]
//
//   - where a denied root and a carve-out have the same path, or "/" is denied;
//   - where a base or writable root is /dev, or at or below /proc or /sys: a
//     bind there would lift the covers off the kernel's control files;
//   - where a readonly or writable root is reached through a symlink that lies
//     below a denied root, wherever it leads, or that leads into a denied root
//     from elsewhere: an earlier confined run can have planted it, to have
//     another tree carved out;
//   - where any root is reached through a symlink that the caller's own rights
//     suffice to replace: a confined run, under this policy or another, could
//     have re-pointed it;
//   - where any root is reached through a link in /proc: what /proc/self is to the
//     launcher, it is not to the command;
//   - where resolving fails: a loop, a directory that cannot be searched.
func Resolve(p Policy, fsys FS) (Resolved, error) {
	n := 0
	for _, l := range Lists() {
		n += len(p.Roots(l))
	}
	w := newWalker(fsys, n)
	all := make([]Root, 0, n)
	for _, l := range Lists() {
		for i, given := range p.Roots(l) {
			root, err := resolveRoot(w, l, i, given)
			if err != nil {
				return Resolved{}, err
			}
			all = append(all, root)
		}
	}
	spellings := spellingsOf(all)
	roots, at, err := foldEqual(all)
	if err != nil {
		return Resolved{}, err
	}
	slices.SortFunc(roots, emissionOrder)
	r := Resolved{def: ReadWrite, roots: roots, at: at, made: true}
	for i, root := range roots {
		r.at[root.Path] = i
	}
	if p.RestrictWrites {
		r.def = Read
	}
	// A root "/" that is left after foldEqual speaks of every path that no
	// other root holds: it is the default.
	for _, root := range roots {
		if root.Path == "/" {
			r.def = root.Access()
		}
	}
	for _, root := range r.roots {
		root.Creatable = root.Kind == Missing && r.Decide(root.Existing).Access == ReadWrite
	}
	// Also the roots that were folded away: a link re-pointed to where another
	// root stands would take its own root out of the policy unseen.
	for i := range all {
		if len(all[i].links) == 0 {
			continue
		}
		if err := r.checkLinks(&all[i], spellings, fsys); err != nil {
			return Resolved{}, err
		}
	}
	r.fold()
	return r, nil
}

func resolveRoot(w *walker, l List, index int, given string) (Root, error) {
	fail := func(err error, fix string) (Root, error) {
		return Root{}, &RootError{List: l, Path: given, Err: err, Fix: fix}
	}
	if err, fix := checkLiteral(given); err != nil {
		return fail(err, fix)
	}
	at, err := w.walk(given)
	if err != nil {
		return fail(err, "")
	}
	if len(at.path) > maxPath {
		return fail(ErrTooLong, "")
	}
	if l == Denied && at.path == "/" {
		return fail(ErrDeniedRoot, "deny the directories that hold what must not be read")
	}
	if l.access() == ReadWrite && isSystem(at.path) {
		return fail(ErrSystemRoot, "leave it out: the devices that every program needs stay writable")
	}
	return Root{
		List: l, Index: index, Given: given, Path: at.path, Kind: at.info.Kind, ID: at.info.ID,
		NotDir: at.blocker != "", Blocker: at.blocker, Existing: at.existing, links: at.links,
		depth: depth(at.path), above: w.above(l, at.path),
	}, nil
}

// isSystem reports whether a writable root here would undo the backends' own
// covers. "/" is not one: it is folded into the default.
func isSystem(p string) bool {
	return p == "/dev" || Holds("/proc", p) || Holds("/sys", p)
}

// foldEqual leaves one root for each canonical path, and says where each is. The
// roots come list by list, in the order of [Lists]: of two, the later one narrows a
// base root, cannot have the path of a denied one, and widens a readonly one.
func foldEqual(all []Root) (kept []*Root, at map[string]int, err error) {
	kept = make([]*Root, 0, len(all))
	at = make(map[string]int, len(all))
	for i := range all {
		r := &all[i]
		j, ok := at[r.Path]
		switch {
		case !ok:
			at[r.Path] = len(kept)
			kept = append(kept, r)
		case kept[j].List == r.List:
		case kept[j].List == Denied:
			return nil, nil, &RootError{List: r.List, Path: r.Given, Err: ErrSamePath, Fix: "carve out a directory below the denied root, or do not deny it"}
		default:
			kept[j] = r
		}
	}
	return kept, at, nil
}

// emissionOrder is the one order in which roots take effect: base roots first,
// then denied, readonly and writable ones together, each group from the
// shallowest to the deepest, ties by path.
func emissionOrder(a, b *Root) int {
	return cmp.Or(
		cmp.Compare(group(a.List), group(b.List)),
		cmp.Compare(a.depth, b.depth),
		cmp.Compare(a.Path, b.Path),
	)
}

func group(l List) int {
	if l == BaseWritable {
		return 0
	}
	return 1
}

// spellingsOf maps each denied root's canonical path to the ways in which the
// caller wrote it.
func spellingsOf(roots []Root) map[string][]string {
	m := make(map[string][]string)
	for _, r := range roots {
		if r.List == Denied {
			m[r.Path] = append(m[r.Path], clean(r.Given))
		}
	}
	return m
}

// checkLinks refuses a root that an earlier confined run could have redirected.
func (r Resolved) checkLinks(root *Root, spellings map[string][]string, fsys FS) error {
	refuse := func(link string) error {
		err := ErrLink
		if link != clean(root.Given) {
			err = fmt.Errorf("%w: %q", ErrLink, link)
		}
		return &RootError{
			List: root.List, Path: root.Given, Err: err,
			Fix: fmt.Sprintf("if %q is what you mean, write that", root.Path),
		}
	}
	carve := root.List == ReadOnly || root.List == Writable
	for _, link := range root.links {
		for _, d := range r.roots {
			if carve && d.List == Denied && Holds(d.Path, link) {
				return refuse(link)
			}
		}
		if Holds("/proc", link) {
			return &RootError{
				List: root.List, Path: root.Given, Err: ErrProcLink,
				Fix: "name a file or directory that is the same one for every process",
			}
		}
		if replaceable(link, fsys) {
			return refuse(link)
		}
	}
	if carve && !r.spelledThroughDenied(root, spellings) {
		return refuse(root.links[len(root.links)-1])
	}
	return nil
}

// replaceable reports whether whoever has the caller's rights could put another
// link in the place of this one: by changing the directory that holds it, or one
// above that. This policy is not asked: an earlier run may have had another.
func replaceable(link string, fsys FS) bool {
	return slices.ContainsFunc(Ancestors(link), fsys.Replaceable)
}

// spelledThroughDenied reports whether a carve-out that is reached through a link was
// written as the caller wrote a denied root above it, followed by exactly the
// components that lead from there to the carve-out. Any other spelling leads into the
// denied tree from elsewhere. A carve-out below no denied root may be written as one
// likes.
func (r Resolved) spelledThroughDenied(root *Root, spellings map[string][]string) bool {
	given, below := clean(root.Given), false
	for _, d := range r.roots {
		if d.List != Denied || !holdsStrictly(d.Path, root.Path) {
			continue
		}
		below = true
		tail := root.Path[len(d.Path):]
		if slices.ContainsFunc(spellings[d.Path], func(s string) bool { return given == s+tail }) {
			return true
		}
	}
	return !below
}
