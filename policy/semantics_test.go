package policy_test

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// Every well-formed policy over a small tree means the same in three tellings:
// the model's precedence list, Decide, and the layers applied one after another.
func TestSemantics(t *testing.T) {
	for _, tt := range []struct {
		name     string
		policies iter.Seq[policy.Policy]
		want     int
	}{
		{"each root in one list at most", sim.AllPolicies(), 25000},
		{"roots in several lists", sim.OverlappingPolicies(), 16000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := sim.SmallTree()
			probes := sim.Probes(tree)
			count := 0
			for p := range tt.policies {
				count++
				r, err := policy.Resolve(p, tree)
				if err != nil {
					t.Fatalf("Resolve(%+v): %v", p, err)
				}
				checkMeaning(t, p, r, probes)
				checkLayers(t, p, r, probes)
				if t.Failed() {
					return
				}
			}
			if count != tt.want {
				t.Errorf("%d policies compared, want %d", count, tt.want)
			}
			t.Logf("%d policies, %d paths each", count, len(probes))
		})
	}
}

func checkMeaning(t *testing.T, p policy.Policy, r policy.Resolved, probes []string) {
	t.Helper()
	restricts := false
	for _, path := range probes {
		want := sim.Model(p, path)
		restricts = restricts || want != policy.ReadWrite
		d := r.Decide(path)
		if d.Access != want {
			t.Errorf("%+v: Decide(%q) = %v, want %v", p, path, d.Access, want)
		}
		if d.Root != nil && d.Root.Access() != want {
			t.Errorf("%+v: Decide(%q) names root %q, which is %v, want %v", p, path, d.Root.Path, d.Root.Access(), want)
		}
		if got := apply(r.Default(), r.Layers(), path); got != want {
			t.Errorf("%+v: layers give %q %v, want %v", p, path, got, want)
		}
	}
	if r.Restricts() != restricts {
		t.Errorf("%+v: Restricts() = %v, want %v", p, r.Restricts(), restricts)
	}
}

// apply reads layers as a backend does: the last that holds the path wins.
func apply(def policy.Access, layers []policy.Layer, path string) policy.Access {
	for _, l := range layers {
		root := strings.TrimSuffix(l.Root.Path, "/") + "/"
		if strings.HasPrefix(path+"/", root) {
			def = l.Access
		}
	}
	return def
}

func checkLayers(t *testing.T, p policy.Policy, r policy.Resolved, probes []string) {
	t.Helper()
	layers := r.Layers()
	if !slices.IsSortedFunc(layers, inOrder) {
		t.Errorf("%+v: layers are not in emission order: %v", p, layers)
	}
	if !slices.IsSortedFunc(r.Roots(), func(a, b policy.Root) int {
		return inOrder(policy.Layer{Root: &a}, policy.Layer{Root: &b})
	}) {
		t.Errorf("%+v: roots are not in emission order: %v", p, r.Roots())
	}
	for i := range layers {
		fewer := slices.Delete(slices.Clone(layers), i, i+1)
		same := func(path string) bool { return apply(r.Default(), fewer, path) == sim.Model(p, path) }
		if !slices.ContainsFunc(probes, func(path string) bool { return !same(path) }) {
			t.Errorf("%+v: layer %d, %q, changes nothing", p, i, layers[i].Root.Path)
		}
	}
}

// inOrder is the emission order as the manual words it: base roots from the
// shallowest to the deepest, then all others so, ties by path.
func inOrder(a, b policy.Layer) int {
	group := func(l policy.Layer) int {
		if l.Root.List == policy.BaseWritable {
			return 1
		}
		return 2
	}
	depth := func(l policy.Layer) int {
		return len(strings.FieldsFunc(l.Root.Path, func(r rune) bool { return r == '/' }))
	}
	return cmp.Or(cmp.Compare(group(a), group(b)), cmp.Compare(depth(a), depth(b)), strings.Compare(a.Root.Path, b.Root.Path))
}

// A policy is malformed where it denies "/", or denies a carve-out's own path:
// no small one of either sort passes, whatever else it holds.
func TestMalformedPolicies(t *testing.T) {
	tree := sim.SmallTree()
	count := 0
	for p := range sim.Policies([]string{"/", "/a", "/a/b"}, [][]policy.List{
		{}, {policy.BaseWritable}, {policy.Denied}, {policy.ReadOnly}, {policy.Writable},
	}) {
		bad := []struct {
			list policy.List
			path string
			want error
		}{{policy.Denied, "/", policy.ErrDeniedRoot}}
		for _, l := range []policy.List{policy.ReadOnly, policy.Writable} {
			for _, denied := range p.Denied {
				bad = append(bad, struct {
					list policy.List
					path string
					want error
				}{l, denied, policy.ErrSamePath})
			}
		}
		for _, b := range bad {
			q := policy.Policy{}
			q.Merge(p)
			if err := q.Add(b.list, b.path); err != nil {
				t.Fatal(err)
			}
			count++
			_, err := policy.Resolve(q, tree)
			if !errors.Is(err, b.want) {
				t.Errorf("Resolve(%+v) error = %v, want %v", q, err, b.want)
			}
		}
	}
	t.Logf("%d malformed policies", count)
}

func TestLayersAreTheCallersToKeep(t *testing.T) {
	r, err := policy.Resolve(policy.Policy{Denied: []string{"/a"}}, sim.SmallTree())
	if err != nil {
		t.Fatal(err)
	}
	r.Layers()[0].Access = policy.ReadWrite
	r.Roots()[0].List = policy.Writable
	if got := r.Decide("/a").Access; got != policy.None || r.Layers()[0].Access != policy.None {
		t.Errorf("Decide(%q) = %v after the caller changed its copy, want %v", "/a", got, policy.None)
	}
}

func TestRestrictions(t *testing.T) {
	p := policy.Policy{Denied: []string{"/a"}, ReadOnly: []string{"/a/b"}, Writable: []string{"/a/b/c"}}
	r, err := policy.Resolve(p, sim.NewTree().Dirs("/a/b/c").Fixed())
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(r.Layers(), func(l policy.Layer) bool { return l.Access == policy.ReadWrite })
	same := func(a, b policy.Layer) bool { return a.Root.Path == b.Root.Path && a.Access == b.Access }
	if got := r.Restrictions(); len(got) != 2 || !slices.EqualFunc(got, want, same) {
		t.Errorf("Restrictions = %v, want %v", got, want)
	}
}

func TestZeroResolvedPanics(t *testing.T) {
	for name, ask := range map[string]func(r policy.Resolved){
		"Default":   func(r policy.Resolved) { r.Default() },
		"Roots":     func(r policy.Resolved) { r.Roots() },
		"Layers":    func(r policy.Resolved) { r.Layers() },
		"Restricts": func(r policy.Resolved) { r.Restricts() },
		"Decide":    func(r policy.Resolved) { r.Decide("/") },

		"Restrictions": func(r policy.Resolved) { r.Restrictions() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a Resolved that Resolve did not make does not panic", name)
				}
			}()
			ask(policy.Resolved{})
		}()
	}
}
