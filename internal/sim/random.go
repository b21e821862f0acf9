package sim

import (
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/letta-confine/letta-confine/policy"
)

// RandomTree returns a tree of 15 to 40 paths, four to six deep, with files and
// sockets at some of its ends. Names share their beginnings.
func RandomTree(rng *rand.Rand) *Tree {
	t := NewTree()
	dirs := []string{"/"}
	depth := 4 + rng.IntN(3)
	for size := 15 + rng.IntN(26); len(t.nodes) < size; {
		dir := pick(rng, dirs)
		if rng.IntN(2) == 0 {
			dir = dirs[len(dirs)-1] // or deep paths would be rare
		}
		path := rebase("/"+pick(rng, []string{"a", "ab", "b", "c", "a.b", "abc"}), "/", dir)
		if t.Kind(path) != policy.Missing || len(components(path)) > depth {
			dirs = append(dirs, "/")
			continue
		}
		switch rng.IntN(8) {
		case 0:
			t.Files(path)
		case 1:
			t.Add(policy.Other, path)
		default:
			t.Dirs(path)
			dirs = append(dirs, path)
		}
	}
	return t
}

// RandomPolicies yields n policies over a tree, of one to ten roots each. Some
// roots are missing; some stand in more than one list.
func RandomPolicies(rng *rand.Rand, t *Tree, n int) iter.Seq[policy.Policy] {
	candidates := slices.DeleteFunc(Probes(t), IsKernels)
	return func(yield func(policy.Policy) bool) {
		for range n {
			roots := make([]string, 1+rng.IntN(10))
			picked := make([][]policy.List, len(roots))
			for i := range roots {
				for roots[i] = pick(rng, candidates); slices.Contains(roots[:i], roots[i]); {
					roots[i] = pick(rng, candidates)
				}
				picked[i] = pick(rng, overlapping[1:])
				if rng.IntN(3) > 0 {
					picked[i] = pick(rng, single[2:]) // mostly of those that can be nested in one another
				}
				if roots[i] == "/" && slices.Contains(picked[i], policy.Denied) {
					picked[i] = nil
				}
			}
			if !yield(build(roots, picked, rng.IntN(2) == 0)) {
				return
			}
		}
	}
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
