// Package denial tells whether what a command complained of was this sandbox's
// doing: which path, which root of the policy, and the smallest change of the
// policy that would have let it pass.
//
// A failure is claimed only where the policy denies the path for what the command
// wanted, and the error is the one that the backend gives in that case. Everything
// else is left to its own cause: owners and modes, a name that does not exist, a
// file system that is read-only without us.
//
// # Limits
//
// The package reads what a program wrote, and looks at the host afterwards. A
// program that hides the error, or leaves out the path, is not understood; a host
// that has changed since is judged as it is now. What a change allows is decided by
// policy.Resolve and Decide; whether to make it is for a person to say.
package denial

import (
	"path"

	"github.com/letta-confine/letta-confine/policy"
)

// Op is what somebody wants to do with a path.
type Op string

// The operations. The last four need the directory that holds the path, too,
// but for Metadata.
const (
	Read     Op = "read"
	List     Op = "list"
	Execute  Op = "execute"
	Write    Op = "write"
	Metadata Op = "metadata" // mode, owner, times, extended attributes
	Create   Op = "create"
	Delete   Op = "delete"
	Rename   Op = "rename" // from there
)

// Ops returns the names of all operations.
func Ops() []string {
	return []string{string(Read), string(List), string(Execute), string(Write), string(Metadata), string(Create), string(Delete), string(Rename)}
}

func (o Op) need() policy.Access {
	if o == Read || o == List || o == Execute {
		return policy.Read
	}
	return policy.ReadWrite
}

// entry reports whether o changes the directory that holds the path.
func (o Op) entry() bool { return o == Create || o == Delete || o == Rename }

// Blocked returns the place where a policy is in the way of an operation: the path
// itself, the directory that holds it, or a root below it that would be removed or
// moved with it. ok is false where nothing is.
func Blocked(r policy.Resolved, p string, op Op) (at string, d policy.Decision, ok bool) {
	places := []string{p}
	if op.entry() {
		places = append(places, path.Dir(p))
	}
	if op == Delete || op == Rename {
		for _, l := range r.Layers() {
			if l.Root.Path != p && policy.Holds(p, l.Root.Path) {
				places = append(places, l.Root.Path)
			}
		}
	}
	for _, at := range places {
		if d := r.Decide(at); d.Access < op.need() {
			return at, d, true
		}
	}
	return "", policy.Decision{}, false
}

// Nearest returns the writable root that shares the most with a path, or nil.
func Nearest(r policy.Resolved, p string) *policy.Root {
	var best *policy.Root
	most := -1
	for _, root := range r.Roots() {
		if root.Access() != policy.ReadWrite {
			continue
		}
		if n := len(common(root.Path, p)); n > most {
			best, most = &root, n
		}
	}
	return best
}

// common returns the deepest directory at or above both of two paths.
func common(a, b string) string {
	for at := a; ; at = path.Dir(at) {
		if policy.Holds(at, b) {
			return at
		}
	}
}
