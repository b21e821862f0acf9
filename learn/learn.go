// Package learn works out, from a trace of what a command did, the smallest policy
// that would have let it: for a person to review, and never put in force by itself.
//
// A trace is what strace writes with [Flags]. Only calls that succeeded count. What
// the given policy already allows stays as it is; the rest becomes writable roots for
// writes and readonly roots for reads of denied trees, each as far down as is useful:
// a directory rather than each file in it, but never the root directory, the home
// directory, or another one that holds what is not the command's.
//
// # Limits
//
// A command does not do everything in one run. What it asked for in vain is not in
// the trace, nor what it had another program do. Calls of old forms with a path
// that is relative are taken from the directory that the process was in, which two
// threads may have changed at the same time.
package learn

import (
	"path"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/policy"
)

// Found is what came of a trace.
type Found struct {
	Policy policy.Policy

	// Left are wishes that no root can grant, or only one that would grant too much.
	Left []denial.Wish
}

// most is how many roots beside each other are listed; more become the directory that
// holds them.
const most = 4

// Policy adds to p what the wishes need. Home and cwd are canonical.
func Policy(p policy.Policy, fsys policy.FS, home, cwd string, wishes []denial.Wish) (Found, error) {
	r, err := policy.Resolve(p, fsys)
	if err != nil {
		return Found{}, err
	}
	l := learner{fsys: fsys, home: home, cwd: cwd}
	wishes = l.asked(r, wishes)
	f := Found{Policy: p}
	var reads, writes []string
	for _, w := range wishes {
		if _, _, blocked := denial.Blocked(r, w.Path, w.Op); !blocked {
			continue
		}
		switch root, ok := l.root(r, w); {
		case !ok: // which the look below finds
		case reading(w.Op):
			reads = append(reads, root)
		default:
			writes = append(writes, root)
		}
	}
	writes = l.fold(r, writes)
	reads = slices.DeleteFunc(l.fold(r, reads), func(p string) bool { return below(writes, p) })
	f.Policy.Writable = append(slices.Clone(p.Writable), writes...)
	f.Policy.ReadOnly = append(slices.Clone(p.ReadOnly), reads...)
	after, err := policy.Resolve(f.Policy, fsys)
	if err != nil {
		return Found{}, err
	}
	for _, w := range wishes {
		if _, _, blocked := denial.Blocked(after, w.Path, w.Op); blocked && !l.done(after, w) && !slices.Contains(f.Left, w) {
			f.Left = append(f.Left, w)
		}
	}
	return f, nil
}

type learner struct {
	fsys      policy.FS
	home, cwd string
}

// asked drops what every backend allows, and says what the rest comes to, now that
// the command has ended: a file that is there need not be made by the next run.
func (l learner) asked(r policy.Resolved, wishes []denial.Wish) (list []denial.Wish) {
	for _, w := range wishes {
		switch {
		case devices(w.Path), w.Op == look && denied(r, w.Path):
			continue // the name of a denied root itself is no secret
		case w.Op == look:
			w.Op = denial.Read
		case w.Op == denial.Create && l.kind(w.Path) != policy.Dir && l.kind(w.Path) != policy.Missing:
			w.Op = denial.Write
		}
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

func reading(op denial.Op) bool {
	return op == denial.Read || op == denial.List || op == denial.Execute
}

// entry reports whether an operation changes the directory that holds its path.
func entry(op denial.Op) bool {
	return op == denial.Create || op == denial.Delete || op == denial.Rename
}

// root is the root that would allow a wish.
func (l learner) root(r policy.Resolved, w denial.Wish) (string, bool) {
	p := w.Path
	dir := path.Dir(p)
	switch {
	case kernels(p):
		return "", false
	case reading(w.Op) && l.kind(p) != policy.Missing || w.Op == denial.Metadata && l.kind(p) == policy.Dir:
		return p, !l.broad(p) && !denied(r, p)
	case !l.broad(dir) && !denied(r, dir) && l.kind(dir) == policy.Dir:
		return dir, true
	case entry(w.Op) && l.kind(p) != policy.Dir:
		return "", false // only the directory could grant it
	}
	return p, l.kind(p) != policy.Missing && !l.broad(p) && !denied(r, p)
}

// done reports whether a directory that the command made is there now, and may be
// written: the next run will not make it.
func (l learner) done(r policy.Resolved, w denial.Wish) bool {
	return w.Op == denial.Create && l.kind(w.Path) == policy.Dir && r.Decide(w.Path).Access == policy.ReadWrite
}

func (l learner) kind(p string) policy.Kind {
	info, err := l.fsys.Lstat(p)
	if err != nil {
		return policy.Missing
	}
	return info.Kind
}

// shared are directories that belong to everybody: what lies right in them is
// granted by its own name.
var shared = []string{"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/root", "/run", "/sbin", "/srv", "/tmp", "/usr", "/var", "/var/tmp", "/var/lib", "/var/log", "/Users"}

// broad reports whether a directory holds what is not the command's: it is above the
// home or the working directory, or shared, or one of those that a home has for all.
func (l learner) broad(dir string) bool {
	if policy.Holds(dir, l.home) || policy.Holds(dir, l.cwd) && dir != l.cwd || slices.Contains(shared, dir) {
		return true
	}
	return path.Dir(dir) == l.home && slices.Contains([]string{".cache", ".config", ".local"}, path.Base(dir)) ||
		slices.Contains([]string{l.home + "/.local/share", l.home + "/.local/state"}, dir)
}

// fold drops roots below others, and puts the directory in the place of many roots in
// it, where it is not too broad.
func (l learner) fold(r policy.Resolved, roots []string) []string {
	for {
		slices.Sort(roots)
		roots = slices.Compact(roots)
		roots = slices.DeleteFunc(slices.Clone(roots), func(p string) bool {
			return below(slices.DeleteFunc(slices.Clone(roots), func(q string) bool { return q == p }), p)
		})
		count := map[string]int{}
		for _, p := range roots {
			count[path.Dir(p)]++
		}
		var more []string
		for dir, n := range count {
			if n > most && !l.broad(dir) && !denied(r, dir) {
				more = append(more, dir)
			}
		}
		if more == nil {
			return roots
		}
		roots = append(roots, more...)
	}
}

// denied reports whether a path is a denied root itself, where no other root can be.
func denied(r policy.Resolved, p string) bool {
	return slices.ContainsFunc(r.Roots(), func(root policy.Root) bool {
		return root.Access() == policy.None && root.Path == p
	})
}

func below(roots []string, p string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return policy.Holds(root, p) })
}

// kernels reports whether a path is the kernel's own, where no root may be.
func kernels(p string) bool { return policy.Holds("/proc", p) || policy.Holds("/sys", p) }

// devices reports whether every backend lets a path be written anyway.
func devices(p string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}, p) || strings.HasPrefix(p, "/dev/pts/") || strings.HasPrefix(p, "/dev/fd/")
}
