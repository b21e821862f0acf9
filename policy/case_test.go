package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// caseTree is a volume that does not tell upper case from lower.
func caseTree() *sim.Tree {
	t := sim.NewTree().
		Dirs("/Users/u/.letta/agents/self/memory", "/Users/u/Work/repo").
		Files("/Users/u/Notes").
		Link("/Users/u/Link", "WORK").
		Link("/Users/u/Up", "Work/Repo/../REPO")
	t.FoldsCase = true
	return t.Fixed()
}

func TestCanonicalFoldsCase(t *testing.T) {
	for _, c := range []struct{ name, given, want string }{
		{"as the volume stores it", "/Users/u/Work", "/Users/u/Work"},
		{"last component", "/Users/u/work", "/Users/u/Work"},
		{"component on the way", "/USERS/u/WORK/repo", "/Users/u/Work/repo"},
		{"file", "/Users/u/NOTES", "/Users/u/Notes"},
		{"link's own name", "/Users/u/link", "/Users/u/Work"},
		{"link's text", "/Users/u/LINK/REPO", "/Users/u/Work/repo"},
		{".. in a link's text", "/Users/u/up", "/Users/u/Work/repo"},
		{".. after another case", "/users/U/../u", "/Users/u"},
		{"what is missing stays as asked", "/users/u/WORK/New/Dir", "/Users/u/Work/New/Dir"},
		{"what lies below a file stays as asked", "/users/u/notes/X", "/Users/u/Notes/X"},
	} {
		if got, err := policy.Canonical(c.given, caseTree()); err != nil || got != c.want {
			t.Errorf("%s: Canonical(%q) = %q, %v, want %q", c.name, c.given, got, err, c.want)
		}
	}
}

// TestCaseNests: roots that differ in case alone are one root, and those that lie
// in one another do so in any case.
func TestCaseNests(t *testing.T) {
	r, err := policy.Resolve(policy.Policy{
		Denied:   []string{"/users/U/.LETTA/Agents"},
		Writable: []string{"/Users/u/.letta/AGENTS/self"},
		ReadOnly: []string{"/Users/u/.letta/agents/SELF"},
	}, caseTree())
	if err != nil {
		t.Fatal(err)
	}
	if got := len(r.Roots()); got != 2 {
		t.Errorf("%d roots, want 2: %v", got, r.Roots())
	}
	for path, want := range map[string]policy.Access{
		"/Users/u/.letta/agents":             policy.None,
		"/Users/u/.letta/agents/other":       policy.None,
		"/Users/u/.letta/agents/self":        policy.ReadWrite,
		"/Users/u/.letta/agents/self/memory": policy.ReadWrite,
		"/Users/u/.letta":                    policy.ReadWrite,
	} {
		if got := r.Decide(path).Access; got != want {
			t.Errorf("Decide(%q) = %v, want %v", path, got, want)
		}
	}
}

func TestCaseConflicts(t *testing.T) {
	_, err := policy.Resolve(policy.Policy{
		Denied: []string{"/Users/u/WORK"}, Writable: []string{"/Users/u/work"},
	}, caseTree())
	if !errors.Is(err, policy.ErrSamePath) {
		t.Errorf("Resolve of a denied and a writable root that differ in case = %v, want %v", err, policy.ErrSamePath)
	}
}

// TestCaseChangesNothing: on a volume that folds case a policy means the same
// however its roots are written.
func TestCaseChangesNothing(t *testing.T) {
	tree := sim.SmallTree().Fixed()
	tree.FoldsCase = true
	n := 0
	for p := range sim.AllPolicies() {
		n++
		if n%5 != 0 {
			continue
		}
		var upper policy.Policy
		upper.RestrictWrites = p.RestrictWrites
		for _, l := range policy.Lists() {
			for i, root := range p.Roots(l) {
				if (i+n)%2 == 0 {
					root = strings.ToUpper(root)
				}
				if err := upper.Add(l, root); err != nil {
					t.Fatal(err)
				}
			}
		}
		want, err1 := policy.Resolve(p, tree)
		got, err2 := policy.Resolve(upper, tree)
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("Resolve(%+v) = %v, of %+v = %v", p, err1, upper, err2)
		}
		if err1 != nil {
			continue
		}
		for _, path := range sim.Probes(tree) {
			if g, w := got.Decide(path).Access, want.Decide(path).Access; g != w {
				t.Fatalf("%+v: Decide(%q) = %v, want %v", upper, path, g, w)
			}
		}
	}
	if n == 0 {
		t.Fatal("no policy was tried")
	}
}

// TestCaseAbove: the directories above a root are known, however it is written.
func TestCaseAbove(t *testing.T) {
	above := func(given string) []policy.ID {
		r, err := policy.Resolve(policy.Policy{Denied: []string{given}}, caseTree())
		if err != nil {
			t.Fatal(err)
		}
		return r.Roots()[0].Above()
	}
	want := above("/Users/u/.letta/agents")
	if got := above("/USERS/u/.Letta/agents"); len(want) != 4 || !slices.Equal(got, want) {
		t.Errorf("Above = %v, want %v", got, want)
	}
}
