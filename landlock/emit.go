// Package landlock confines a command by a Landlock domain: the launcher
// restricts its own thread and executes the command on it. Nothing stays behind,
// and no namespace is made.
//
// Landlock grants and cannot take back: a denied root inside an allowed tree is
// had by granting, level by level, everything that lies beside it. [New] computes
// the grants; it is pure, and learns what lies beside a root through [Host].
//
// # Limits
//
// Landlock does not mediate metadata: the mode, owner, times and extended
// attributes of a file that must not be written can be changed. Names below a
// denied root can be probed by stat and watched by inotify. What is created later
// beside a denied root is out of reach, and a directory above one cannot be
// listed or extended. Each of these is reported for the policies that it
// concerns, and for no other.
package landlock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/letta-confine/letta-confine/policy"
)

// Devices are the nodes that every command may read and write.
var Devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
}

// Entry is a name in a directory.
type Entry struct {
	Name string
	Kind policy.Kind
}

// Host is what emission needs to know of the machine.
type Host struct {
	ABI int

	// List returns the entries of a directory.
	List func(dir string) ([]Entry, error)

	// Privileged is whether the command keeps capabilities or is uid 0. What that writes
	// below /proc steers the kernel, so only other users get to write there: of
	// their own processes alone, by the files' modes.
	Privileged bool

	// MaxSiblings bounds the grants that stand for what lies beside roots.
	MaxSiblings int
}

// DefaultMaxSiblings bounds the siblings granted one by one: each costs two
// system calls at every start.
const DefaultMaxSiblings = 4096

// Grant gives rights on a path and, if it is a directory, on all beneath it.
type Grant struct {
	Path   string
	Rights Rights

	// ID is set where the path is a root: it must still be that file.
	ID policy.ID

	// Optional is set where nothing is lost when the path is gone. Without an ID
	// it must then be none of the guarded files.
	Optional bool
}

// Ruleset is a policy in Landlock's terms.
type Ruleset struct {
	ABI      int
	Handled  Rights
	Scoped   uint64 // abilities beyond files that end at the domain (landlock(7)); none by default
	Grants   []Grant
	Log      bool // the kernel logs what is denied to the programs executed in the domain
	Siblings int  // grants that stand for something beside a root

	// Guarded are the denied roots and the directories above them, Fixed the readonly
	// ones. None may be found under the name of something beside them: of Fixed, where
	// that can be written. They are sorted.
	Guarded, Fixed []policy.ID

	// Skipped are the missing roots: nothing is there to grant.
	Skipped []policy.Root

	Enforcement policy.Enforcement
}

// Reasons for which New has no ruleset.
var (
	ErrABI      = errors.New("this kernel has no Landlock")
	ErrSiblings = errors.New("too many files beside the roots")
)

// New returns the ruleset for a policy.
//
// A directory gets, whole, what every root beneath it leaves standing; what one
// of them takes away is granted to the directory's entries instead, but for
// those on the way to that root, which are treated in the same manner. The
// directory itself is then left without: it can be neither listed nor extended,
// which is reported as an over-denial.
//
// It fails with ErrABI without Landlock, with ErrSiblings beyond MaxSiblings,
// where nothing would be granted in part, and where a directory beside which a
// root lies cannot be listed.
func New(r policy.Resolved, h Host) (Ruleset, error) {
	if h.ABI < 1 {
		return Ruleset{}, ErrABI
	}
	e := emitter{r: r, h: h}
	e.out = Ruleset{ABI: h.ABI, Handled: Handled(h.ABI)}
	layers := r.Layers()
	e.layers = make([]policy.Layer, 0, len(layers))
	e.out.Grants = make([]Grant, 0, len(layers)+len(Devices)+2) // and "/" and /proc
	for _, l := range layers {
		if l.Root.Kind == policy.Missing {
			e.out.Skipped = append(e.out.Skipped, *l.Root)
			if !l.Root.Creatable || l.Access == policy.ReadWrite {
				continue
			}
		}
		e.layers = append(e.layers, l)
		switch l.Access {
		case policy.None:
			e.out.Guarded = append(append(e.out.Guarded, l.Root.Above()...), l.Root.ID)
		case policy.Read:
			e.out.Fixed = append(append(e.out.Fixed, l.Root.Above()...), l.Root.ID)
		}
	}
	for _, ids := range []*[]policy.ID{&e.out.Guarded, &e.out.Fixed} {
		slices.SortFunc(*ids, byID)
		*ids = slices.Compact(*ids)
	}
	if err := e.subtree("/", policy.Dir, e.rights("/"), e.layers); err != nil {
		return Ruleset{}, err
	}
	e.always()
	e.report()
	return e.out, nil
}

// always grants what every command may write. What lies below such a directory is
// granted with it, and no rule takes that back: so not where a root there is to be
// kept. A readonly root does not take a device itself away, but /proc it does.
func (e *emitter) always() {
	for _, path := range Devices {
		var id policy.ID
		kept := slices.ContainsFunc(e.layers, func(l policy.Layer) bool {
			if l.Root.Path == path {
				id = l.Root.ID
				return l.Access == policy.None
			}
			return l.Access != policy.ReadWrite && policy.Holds(path, l.Root.Path)
		})
		if !kept && e.r.Decide(path).Access != policy.None {
			e.grant(Grant{Path: path, Rights: deviceRights, ID: id, Optional: true}, policy.Device)
		}
	}
	kept := slices.ContainsFunc(e.layers, func(l policy.Layer) bool { return policy.Holds("/proc", l.Root.Path) })
	if !e.h.Privileged && !kept {
		e.grant(Grant{Path: "/proc", Rights: ll.AccessFSWriteFile | ll.AccessFSTruncate, Optional: true}, policy.Dir)
	}
}

func byID(a, b policy.ID) int {
	return cmp.Or(cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Ino, b.Ino))
}

type emitter struct {
	r      policy.Resolved
	h      Host
	layers []policy.Layer
	out    Ruleset
}

// subtree grants what the policy allows at path, which is whole, and below. below
// are the layers at or beneath path.
func (e *emitter) subtree(path string, kind policy.Kind, whole Rights, below []policy.Layer) error {
	common := whole
	var id policy.ID
	var inside []policy.Layer
	if len(below) > 1 {
		inside = make([]policy.Layer, 0, len(below))
	}
	for _, l := range below {
		if l.Root.Path == path {
			id = l.Root.ID
			continue
		}
		inside = append(inside, l)
		common &= rightsAt(l)
	}
	if kind != policy.Dir && kind != policy.Missing {
		// Nothing is below it: a root that would need a directory here is not
		// there, and cannot come to be, because the directory that holds the
		// file is granted by entries and the file not replaced.
		if kind == policy.Device && whole&ll.AccessFSWriteFile != 0 {
			whole |= ll.AccessFSIoctlDev
		}
		e.grant(Grant{Path: path, Rights: whole, ID: id}, kind)
		return nil
	}
	if path == "/" && whole&writeRights != 0 {
		// Entry by entry, or the grant would reach /proc, /sys and /dev.
		common &^= writeRights
	}
	e.grant(Grant{Path: path, Rights: common, ID: id}, kind)
	if common == whole {
		return e.carve(inside)
	}
	return e.entries(path, inside, whole)
}

// carve grants what layers add to a directory that was granted whole.
func (e *emitter) carve(layers []policy.Layer) error {
	if len(layers) == 0 {
		return nil
	}
	// Emission order puts a root before those beneath it: a layer belongs to
	// the first that holds it.
	tops := make([][]policy.Layer, 0, len(layers))
	at := make(map[string]int, len(layers))
	for n, l := range layers {
		i := len(tops)
		for dir := range policy.Upward(l.Root.Path) {
			if j, ok := at[dir]; ok {
				i = min(i, j)
			}
		}
		if i < len(tops) {
			tops[i] = append(tops[i], l)
			continue
		}
		at[l.Root.Path] = i
		tops = append(tops, layers[n:n+1:n+1])
	}
	for _, below := range tops {
		if err := e.subtree(below[0].Root.Path, below[0].Root.Kind, rightsAt(below[0]), below); err != nil {
			return err
		}
	}
	return nil
}

// entries grants a directory entry by entry, going down where a root lies below.
func (e *emitter) entries(dir string, layers []policy.Layer, whole Rights) error {
	over := "extend"
	if whole&readRights != 0 && e.missesRead(layers) {
		over = "list"
	}
	e.out.Enforcement.OverDenials = append(e.out.Enforcement.OverDenials, policy.OverDenial{Name: over, Path: dir})
	entries, err := e.h.List(dir)
	if err != nil {
		return fmt.Errorf("listing %q, beside a root: %w", dir, err)
	}
	prefix := dir + "/"
	if dir == "/" {
		prefix = "/"
	}
	towards := make(map[string][]policy.Layer) // by the entry on the way to them
	for _, l := range layers {
		name, _, _ := strings.Cut(strings.TrimPrefix(l.Root.Path, prefix), "/")
		towards[name] = append(towards[name], l)
	}
	if err := listed(prefix, entries, layers); err != nil {
		return err
	}
	e.out.Grants = slices.Grow(e.out.Grants, len(entries))
	for _, entry := range entries {
		path := prefix + entry.Name
		below := towards[entry.Name]
		switch {
		case len(below) > 0:
			if err := e.subtree(path, entry.Kind, e.rights(path), below); err != nil {
				return err
			}
		case entry.Kind == policy.Symlink:
			// Rights are those of the target; a link has none to give.
		default:
			if e.out.Siblings++; e.out.Siblings > e.h.MaxSiblings {
				return fmt.Errorf("%w: more than %d", ErrSiblings, e.h.MaxSiblings)
			}
			e.grant(Grant{Path: path, Rights: e.rights(path), Optional: true}, entry.Kind)
		}
	}
	return nil
}

// errName says that a directory has no entry of the name under which a root was
// found: it was renamed, or the directory does not tell upper from lower case, and
// the entry with the other spelling would be granted as something beside it.
var errName = errors.New("it is not listed under that name")

// listed checks that every root that exists, or a directory on the way to it, is
// among the entries by the name that leads to it.
func listed(prefix string, entries []Entry, layers []policy.Layer) error {
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name] = true
	}
	for _, l := range layers {
		name, _, _ := strings.Cut(strings.TrimPrefix(l.Root.Path, prefix), "/")
		exists := l.Root.Kind != policy.Missing || policy.Holds(prefix+name, l.Root.Existing)
		if exists && !names[name] {
			return fmt.Errorf("%q: %w", prefix+name, errName)
		}
	}
	return nil
}

// missesRead reports whether a layer takes reading away.
func (e *emitter) missesRead(layers []policy.Layer) bool {
	return slices.ContainsFunc(layers, func(l policy.Layer) bool { return l.Access == policy.None })
}

// grant adds g, within what the kernel takes for a file of that kind.
func (e *emitter) grant(g Grant, kind policy.Kind) {
	g.Rights &= e.out.Handled
	if kind != policy.Dir {
		g.Rights &= fileRights
	}
	if g.Rights != 0 && kind != policy.Missing {
		e.out.Grants = append(e.out.Grants, g)
	}
}
