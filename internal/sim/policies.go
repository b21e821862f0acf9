package sim

import (
	"iter"
	"slices"

	"github.com/letta-confine/letta-confine/policy"
)

// smallRoots are the candidates of AllPolicies: "/", nesting three deep, two
// siblings, and a sibling that shares a name's beginning.
var smallRoots = []string{"/", "/a", "/ab", "/a/b", "/a/b/c", "/a/d"}

// SmallTree returns a tree that holds the roots of AllPolicies, as directories
// but for those named in files.
func SmallTree(files ...string) *Tree {
	return NewTree().Files(files...).addMissing(smallRoots)
}

func (t *Tree) addMissing(dirs []string) *Tree {
	for _, path := range dirs {
		if t.Kind(path) == policy.Missing {
			t.Dirs(path)
		}
	}
	return t
}

// Fresh is the name that Probes gives to what does not exist yet.
const Fresh = "fresh"

// Probes returns every path of the tree, and below each directory a child that
// does not exist.
func Probes(t *Tree) []string {
	var probes []string
	for _, path := range t.Paths() {
		probes = append(probes, path)
		if t.Kind(path) == policy.Dir {
			probes = append(probes, rebase("/"+Fresh, "/", path))
		}
	}
	return probes
}

// AllPolicies yields every well-formed policy in which each root of SmallTree is
// in none or one of the lists: 25,000 of them.
func AllPolicies() iter.Seq[policy.Policy] { return Policies(smallRoots, single) }

// OverlappingPolicies yields every well-formed policy in which each of "/", "/a",
// "/ab" and "/a/b" is in any number of the lists at once: 16,000 of them.
func OverlappingPolicies() iter.Seq[policy.Policy] { return Policies(smallRoots[:4], overlapping) }

// single and overlapping are the sets of lists that one root can be in.
var (
	single = [][]policy.List{
		{}, {policy.BaseWritable}, {policy.Denied}, {policy.ReadOnly}, {policy.Writable},
	}
	overlapping = append(slices.Clone(single),
		[]policy.List{policy.BaseWritable, policy.Denied},
		[]policy.List{policy.BaseWritable, policy.ReadOnly},
		[]policy.List{policy.BaseWritable, policy.Writable},
		[]policy.List{policy.ReadOnly, policy.Writable},
		[]policy.List{policy.BaseWritable, policy.ReadOnly, policy.Writable},
	)
)

// Policies yields the policies that put each root into the lists of one of the
// choices, with writes restricted and not. "/" is never denied. The slices of a
// yielded policy are the receiver's to keep.
func Policies(roots []string, choices [][]policy.List) iter.Seq[policy.Policy] {
	return func(yield func(policy.Policy) bool) {
		picked := make([][]policy.List, len(roots))
		var from func(i int) bool
		from = func(i int) bool {
			if i == len(roots) {
				return yield(build(roots, picked, false)) && yield(build(roots, picked, true))
			}
			for _, c := range choices {
				if roots[i] == "/" && slices.Contains(c, policy.Denied) {
					continue
				}
				if picked[i] = c; !from(i + 1) {
					return false
				}
			}
			return true
		}
		from(0)
	}
}

func build(roots []string, picked [][]policy.List, restrict bool) policy.Policy {
	p := policy.Policy{RestrictWrites: restrict}
	into := map[policy.List]*[]string{
		policy.BaseWritable: &p.BaseWritable,
		policy.Denied:       &p.Denied,
		policy.ReadOnly:     &p.ReadOnly,
		policy.Writable:     &p.Writable,
	}
	for i, root := range roots {
		for _, l := range picked[i] {
			*into[l] = append(*into[l], root)
		}
	}
	return p
}

// Model says what a policy means for a path, by the precedence of its lists and
// nothing else. The policy's roots and the path are canonical, and no path is
// both denied and a carve-out. First the denied, readonly and writable roots:
// the deepest that holds the path, and at one path a writable root before a
// readonly one. Then the base roots. Then the default.
func Model(p policy.Policy, path string) policy.Access {
	deepest, access := -1, policy.None
	for _, list := range []struct {
		roots  []string
		access policy.Access
	}{
		{p.Denied, policy.None},
		{p.ReadOnly, policy.Read},
		{p.Writable, policy.ReadWrite}, // last, to win a tie
	} {
		for _, root := range list.roots {
			if depth, ok := inside(root, path); ok && depth >= deepest {
				deepest, access = depth, list.access
			}
		}
	}
	if deepest >= 0 {
		return access
	}
	for _, root := range p.BaseWritable {
		if _, ok := inside(root, path); ok {
			return policy.ReadWrite
		}
	}
	if p.RestrictWrites {
		return policy.Read
	}
	return policy.ReadWrite
}
