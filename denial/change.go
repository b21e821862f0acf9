package denial

import (
	"fmt"
	"path"
	"slices"

	"github.com/letta-confine/letta-confine/policy"
)

// Edit is one change of a policy: a root added or removed, or, with neither, writes
// no longer restricted.
type Edit struct {
	Add, Remove string // a path; the other is empty
	List        policy.List
}

// String says the edit in the words of the command line.
func (e Edit) String() string {
	switch {
	case e.Add != "":
		return fmt.Sprintf("add %s %q", e.List.Flag(), e.Add)
	case e.Remove != "":
		return fmt.Sprintf("remove %q from %s", e.Remove, e.List)
	}
	return "leave out --restrict-writes"
}

// mostEdits bounds a change. One that needs more is no small change.
const mostEdits = 6

// Wish is an operation on a canonical path.
type Wish struct {
	Path string
	Op   Op
}

// Change returns the smallest change after which the policy allows all wishes, as
// Resolve and Decide see it, or nil where it finds none or needs none. It grants the path, or the
// directory that holds it, rather than more; it takes a root away only where
// nothing can be carved out of it.
func Change(p policy.Policy, fsys policy.FS, wishes ...Wish) []Edit {
	p = clone(p)
	var edits []Edit
	r, err := policy.Resolve(p, fsys)
	for _, w := range wishes {
		for {
			if err != nil || len(edits) > mostEdits {
				return nil
			}
			at, d, blocked := Blocked(r, w.Path, w.Op)
			if !blocked {
				break
			}
			edit, next, ok := step(p, fsys, w, at, d)
			if !ok {
				return nil
			}
			edits = append(edits, edit)
			p = next
			r, err = policy.Resolve(p, fsys)
		}
	}
	return edits
}

// step makes the first edit that changes who decides about the place in the way.
func step(p policy.Policy, fsys policy.FS, w Wish, at string, d policy.Decision) (Edit, policy.Policy, bool) {
	list, target := policy.ReadOnly, at
	if w.Op.need() == policy.ReadWrite {
		list = policy.Writable
		if w.Op.entry() && policy.Holds(at, w.Path) {
			target = path.Dir(w.Path)
		}
		target = existing(target, fsys) // a writable root that is missing is skipped
	}
	var tries []Edit
	if target != "/" {
		tries = append(tries, Edit{Add: target, List: list})
	}
	if d.Root != nil {
		tries = append(tries, Edit{Remove: d.Root.Given, List: d.Root.List})
	} else {
		tries = append(tries, Edit{})
	}
	for _, e := range tries {
		q := e.apply(p, d, fsys)
		r, err := policy.Resolve(q, fsys)
		if err != nil {
			continue
		}
		if now := r.Decide(at); now.Access != d.Access || !sameRoot(now.Root, d.Root) {
			return e, q, true
		}
	}
	return Edit{}, p, false
}

func sameRoot(a, b *policy.Root) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Path == b.Path && a.List == b.List
}

func existing(p string, fsys policy.FS) string {
	for p != "/" {
		if info, err := fsys.Lstat(p); err == nil && info.Kind != policy.Missing {
			break
		}
		p = path.Dir(p)
	}
	return p
}

func (e Edit) apply(p policy.Policy, d policy.Decision, fsys policy.FS) policy.Policy {
	p = clone(p)
	switch {
	case e.Add != "":
		if err := p.Add(e.List, e.Add); err != nil {
			return p // which then decides as before, and is passed over
		}
	case e.Remove != "":
		// Whatever the spelling, and however often it is written.
		list := p.Roots(e.List)
		list = slices.DeleteFunc(list, func(given string) bool {
			at, err := policy.Canonical(given, fsys)
			return given == e.Remove || (err == nil && at == d.Root.Path)
		})
		setRoots(&p, e.List, list)
	default:
		p.RestrictWrites = false
	}
	return p
}

func setRoots(p *policy.Policy, l policy.List, roots []string) {
	switch l {
	case policy.BaseWritable:
		p.BaseWritable = roots
	case policy.Denied:
		p.Denied = roots
	case policy.ReadOnly:
		p.ReadOnly = roots
	case policy.Writable:
		p.Writable = roots
	}
}

func clone(p policy.Policy) policy.Policy {
	for _, l := range policy.Lists() {
		setRoots(&p, l, slices.Clone(p.Roots(l)))
	}
	return p
}
