package denial

import (
	"path"

	"github.com/letta-confine/letta-confine/policy"
)

// Facts is what the host says of a path, to the user whose command it was, without
// the sandbox.
type Facts struct {
	Kind       policy.Kind // Missing where nothing is there
	Readable   bool
	Writable   bool
	Executable bool
	ReadOnly   bool // the file system is
	Mounted    bool // something is mounted just there
}

// Host is the file system as Judge sees it.
type Host interface {
	policy.FS

	// Facts speaks of a canonical path.
	Facts(path string) Facts
}

// Claim is a failure that was the sandbox's doing.
type Claim struct {
	Failure
	Given    string // the path as the program wrote it
	Path     string // canonical
	Op       Op
	At       string // the place that decided: the path, or its directory
	Decision policy.Decision
	Wishes   []Wish // what the policy would have to allow; nil where that is too much to propose
}

// Dialect returns the errors with which a backend denies something, and nil for
// one that is not known.
func Dialect(backend string) []Errno {
	switch backend {
	case "bwrap":
		return []Errno{ENOENT, EROFS, EACCES, EXDEV, EBUSY}
	case "landlock":
		return []Errno{EACCES, EXDEV}
	case "seatbelt":
		return []Errno{EPERM}
	}
	return nil
}

// Judge returns the failures that were the sandbox's doing. Paths that are not
// absolute are taken from dir.
func Judge(r policy.Resolved, backend, dir string, host Host, failures []Failure) []Claim {
	var claims []Claim
	for _, f := range failures {
		j := judge{r, backend, host, f}
		if c, ok := j.claim(dir); ok {
			claims = append(claims, c)
		}
	}
	return claims
}

type judge struct {
	r       policy.Resolved
	backend string
	host    Host
	Failure
}

func (j judge) claim(dir string) (Claim, bool) {
	var given, paths []string
	for _, g := range j.paths {
		p := g
		if !path.IsAbs(p) {
			p = dir + "/" + p
		}
		// One that the user could not look up is none of the policy's business.
		if p, err := policy.Canonical(p, j.host); err == nil {
			given, paths = append(given, g), append(paths, p)
		}
	}
	if j.Errno == EXDEV {
		return j.across(given, paths)
	}
	for i, p := range paths {
		op, ok := j.fits(p)
		if !ok || (given[i] == j.lone && j.host.Facts(p).Executable) {
			continue
		}
		if at, d, blocked := Blocked(j.r, p, op); blocked {
			return Claim{j.Failure, given[i], p, op, at, d, []Wish{{p, op}}}, true
		}
	}
	return Claim{}, false
}

// fits returns the operation on p that would have ended in this error.
func (j judge) fits(p string) (Op, bool) {
	facts, above := j.host.Facts(p), j.host.Facts(path.Dir(p))
	d := j.r.Decide(p)
	switch {
	case j.backend == "bwrap" && j.Errno == ENOENT:
		if d.Access != policy.None || d.Root.Path == p {
			return "", false // the place of a denied root itself is there
		}
		if facts.Kind == policy.Missing {
			// It would be missing without us too, unless it was to be made where
			// the directory is hidden.
			hidden := above.Kind == policy.Dir && j.r.Decide(path.Dir(p)).Access == policy.None
			return Create, hidden && j.op == Create
		}
		return j.operation(facts, Read), true
	case j.backend == "bwrap" && j.Errno == EROFS:
		op := j.operation(facts, Write)
		return op, !facts.ReadOnly && !(facts.Kind == policy.Missing && above.ReadOnly)
	case j.backend == "bwrap" && j.Errno == EACCES:
		masked := d.Access == policy.None && d.Root.Path == p && facts.Kind != policy.Dir && facts.Kind != policy.Missing
		return j.operation(facts, Read), masked
	case j.backend == "bwrap" && j.Errno == EBUSY:
		return Delete, j.pins(p) && !facts.Mounted
	case j.backend == "landlock" && j.Errno == EACCES, j.backend == "seatbelt" && j.Errno == EPERM:
		return j.refused(p, d, facts, above)
	}
	return "", false
}

// refused is fits where the backend's error is also the one of owners and modes: the
// user must have been able to do it without us.
func (j judge) refused(p string, d policy.Decision, facts, above Facts) (Op, bool) {
	want := Write
	if d.Access == policy.None {
		want = Read
	}
	op := j.operation(facts, want)
	switch {
	case op == Metadata && j.backend == "landlock":
		return "", false // which does not mediate it
	case j.op == "" && facts.Kind != policy.Missing && !facts.Readable:
		return "", false // it was perhaps to be read
	case op.entry():
		return op, above.Writable && above.Kind == policy.Dir
	case op.need() == policy.Read:
		return op, facts.Readable
	case j.shell && j.op == "" && facts.Kind == policy.File && !facts.Executable:
		return "", false // a shell says the same of a program that is none
	}
	return op, facts.Readable && facts.Writable
}

// operation is what a word told, or else what there is to do with such a path.
func (j judge) operation(facts Facts, want Op) Op {
	switch {
	case facts.Kind == policy.Missing:
		return Create
	case j.op == Create && facts.Kind != policy.Dir:
		return Write // a shell "cannot create" what it writes to
	case j.op != "":
		return j.op
	case want == Read && facts.Kind == policy.Dir:
		return List
	case want == Write && facts.Kind == policy.Dir:
		return Delete // nobody writes to a directory
	}
	return want
}

// pins reports whether p is a root, or lies above one, so that it cannot be moved.
func (j judge) pins(p string) bool {
	for _, l := range j.r.Layers() {
		if policy.Holds(p, l.Root.Path) {
			return true
		}
	}
	return false
}

// across judges EXDEV: two paths, between which the sandbox has drawn a line.
func (j judge) across(given, paths []string) (Claim, bool) {
	if len(paths) != 2 || (j.backend != "bwrap" && j.backend != "landlock") {
		return Claim{}, false
	}
	for i, p := range paths {
		at, d, blocked := Blocked(j.r, p, Write)
		if !blocked {
			continue
		}
		// Both have to lie in one mount, which only a root above both makes.
		wishes := []Wish{{paths[0], Delete}, {paths[1], Delete}}
		if dir := common(path.Dir(paths[0]), path.Dir(paths[1])); dir == "/" {
			wishes = nil // a root above both would be everything
		} else {
			wishes = append([]Wish{{path.Join(dir, "x"), Create}}, wishes...)
		}
		return Claim{j.Failure, given[i], p, Rename, at, d, wishes}, true
	}
	return Claim{}, false
}
