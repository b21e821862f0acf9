package sim_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

func TestTree(t *testing.T) {
	tree := sim.NewTree().Dirs("/a/b").Files("/a/f").Add(policy.Other, "/a/sock").Link("/l", "../a")
	want := []string{"/", "/a", "/a/b", "/a/f", "/a/sock", "/l"}
	if got := tree.Paths(); !slices.Equal(got, want) {
		t.Errorf("Paths() = %q, want %q", got, want)
	}
	ids := make(map[policy.ID]string)
	for path, kind := range map[string]policy.Kind{
		"/": policy.Dir, "/a": policy.Dir, "/a/f": policy.File, "/a/sock": policy.Other, "/l": policy.Symlink,
	} {
		info, err := tree.Lstat(path)
		if err != nil || info.Kind != kind {
			t.Errorf("Lstat(%q) = %v, %v, want %v", path, info.Kind, err, kind)
		}
		if other, ok := ids[info.ID]; ok {
			t.Errorf("%q and %q have one ID", path, other)
		}
		ids[info.ID] = path
		if again, _ := tree.Lstat(path); again != info {
			t.Errorf("Lstat(%q) = %v and then %v", path, info, again)
		}
	}
	if got, err := tree.Readlink("/l"); got != "../a" || err != nil {
		t.Errorf("Readlink = %q, %v, want %q", got, err, "../a")
	}
	if _, err := tree.Readlink("/a"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Readlink of a directory: %v, want %v", err, fs.ErrInvalid)
	}
	if _, err := tree.Lstat("/a/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Lstat of a missing name: %v, want %v", err, fs.ErrNotExist)
	}
	for _, name := range []string{"/l/b", "/a/f/x"} {
		if _, err := tree.Lstat(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Lstat(%q): %v, want an error of its own", name, err)
		}
	}
}

func TestTreeAnswers(t *testing.T) {
	tree := sim.NewTree().Dirs("/a")
	if !tree.Replaceable("/a") {
		t.Error("Replaceable = false, want true where nothing says otherwise")
	}
	tree.CanReplace = func(dir string) bool { return dir == "/a" }
	if tree.Replaceable("/") || !tree.Replaceable("/a") {
		t.Error("Replaceable does not ask CanReplace")
	}
	tree.Errors = map[string]error{"/a": fs.ErrPermission}
	if _, err := tree.Lstat("/a"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Lstat: %v, want %v", err, fs.ErrPermission)
	}
}

func TestTreeRefusesWhatIsNotCanonical(t *testing.T) {
	for _, path := range []string{"", "a", "/a/", "//a"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Dirs(%q) does not panic", path)
				}
			}()
			sim.NewTree().Dirs(path)
		}()
	}
}

func TestProbes(t *testing.T) {
	got := sim.Probes(sim.NewTree().Dirs("/a").Files("/a/f"))
	want := []string{"/", "/fresh", "/a", "/a/fresh", "/a/f"}
	if !slices.Equal(got, want) {
		t.Errorf("Probes = %q, want %q", got, want)
	}
}

func TestPoliciesAreAllDifferent(t *testing.T) {
	seen := make(map[string]bool)
	for p := range sim.AllPolicies() {
		text, err := p.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(text)] = true
	}
	// Five choices for each root but "/", which is never denied, and the switch.
	if want := 5 * 5 * 5 * 5 * 5 * 4 * 2; len(seen) != want {
		t.Errorf("AllPolicies yields %d different policies, want %d", len(seen), want)
	}
	overlapping := 0
	for range sim.OverlappingPolicies() {
		overlapping++
	}
	if want := 10 * 10 * 10 * 8 * 2; overlapping != want {
		t.Errorf("OverlappingPolicies yields %d, want %d", overlapping, want)
	}
}

func TestModel(t *testing.T) {
	p := policy.Policy{
		BaseWritable:   []string{"/home", "/deny/base", "/ro"},
		Denied:         []string{"/deny", "/deny/carve/again"},
		ReadOnly:       []string{"/ro", "/deny/carve", "/both"},
		Writable:       []string{"/ro/rw", "/both"},
		RestrictWrites: true,
	}
	for path, want := range map[string]policy.Access{
		"/":                    policy.Read,
		"/homes":               policy.Read,
		"/home":                policy.ReadWrite,
		"/home/u":              policy.ReadWrite,
		"/deny":                policy.None,
		"/deny/x":              policy.None,
		"/denyx":               policy.Read,
		"/deny/base":           policy.None,
		"/deny/carve":          policy.Read,
		"/deny/carve/x":        policy.Read,
		"/deny/carve/again":    policy.None,
		"/deny/carve/again/xx": policy.None,
		"/ro":                  policy.Read,
		"/ro/rw/x":             policy.ReadWrite,
		"/both":                policy.ReadWrite,
	} {
		if got := sim.Model(p, path); got != want {
			t.Errorf("Model(%q) = %v, want %v", path, got, want)
		}
	}
	if got := sim.Model(policy.Policy{}, "/x"); got != policy.ReadWrite {
		t.Errorf("Model without a root = %v, want %v", got, policy.ReadWrite)
	}
}

// The model of names has to be right by itself: a few whose answers are written
// out, as e for an entry that may change and c for one that may be made.
func TestMeaning(t *testing.T) {
	tree := sim.SmallTree()
	m := sim.NewMeaning(policy.Policy{
		BaseWritable: []string{"/a", "/gone"}, Denied: []string{"/a/b", "/a/new/late"}, Writable: []string{"/a/b/c", "/a/b/gone"},
		ReadOnly: []string{"/a/b/gone"}, RestrictWrites: true,
	}, tree)
	for path, want := range map[string]string{
		"/": "read--", "/a": "read-write--", "/ab": "read--", "/a/b": "none--", "/a/b/c": "read-write--",
		"/a/b/c/new": "read-writeec", "/a/d": "read-writeec", "/gone": "read--", "/a/b/gone": "none--",
		"/a/new": "read-write-c", "/a/new/late": "none--",
	} {
		got := m.Access(path).String()
		for _, c := range []struct {
			yes  bool
			mark string
		}{{m.Entry(path), "e"}, {m.Create(path), "c"}} {
			if c.yes {
				got += c.mark
			} else {
				got += "-"
			}
		}
		if got != want {
			t.Errorf("meaning of %q = %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]bool{"/a/b": true, "/a/new/late": true, "/a": false, "/a/b/c": false, "/a/b/x": false} {
		if got := m.Shown(path); got != want {
			t.Errorf("Shown(%q) = %v, want %v", path, got, want)
		}
	}
}

func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	depths := make(map[int]int)
	for range 100 {
		tree := sim.RandomTree(rng)
		depth := 0
		for _, path := range tree.Paths() {
			depth = max(depth, strings.Count(path, "/"))
		}
		if n := len(tree.Paths()); depth > 6 || n < 15 || n > 40 {
			t.Errorf("a tree of %d paths, %d deep", n, depth)
		}
		depths[depth]++
		for p := range sim.RandomPolicies(rng, tree, 20) {
			if _, err := policy.Resolve(p, tree); err != nil {
				t.Errorf("Resolve(%+v): %v", p, err)
			}
		}
	}
	if depths[4]+depths[5]+depths[6] < 90 {
		t.Errorf("few trees are four deep or more: %v", depths)
	}
}
