package landlock_test

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

func hostTree(files ...string) *sim.Tree {
	return sim.SmallTree(files...).Dirs("/dev/pts", "/proc/1", "/sys/kernel").
		Add(policy.Device, "/dev/null", "/dev/sda", "/dev/ptmx")
}

// lister answers Host.List from a tree.
func lister(tree *sim.Tree) func(string) ([]landlock.Entry, error) {
	entries := make(map[string][]landlock.Entry)
	for _, p := range tree.Paths() {
		if p != "/" {
			entries[path.Dir(p)] = append(entries[path.Dir(p)], landlock.Entry{Name: path.Base(p), Kind: tree.Kind(p)})
		}
	}
	return func(dir string) ([]landlock.Entry, error) { return entries[dir], nil }
}

// domain reads a ruleset with the interpreter. Grants on what is not there are
// left out, as Restrict leaves out those that are optional.
func domain(rs landlock.Ruleset, tree *sim.Tree) (sim.Domain, error) {
	var grants []sim.Grant
	for _, g := range rs.Grants {
		if tree.Kind(g.Path) == policy.Missing {
			if !g.Optional {
				return sim.Domain{}, fmt.Errorf("a rule for %q, which is not there", g.Path)
			}
			continue
		}
		grants = append(grants, sim.Grant{Path: g.Path, Rights: uint64(g.Rights)})
	}
	return sim.Landlock(uint64(rs.Handled), grants, tree)
}

// A ruleset never allows what the model denies, for any policy over a small tree
// and any ABI, but for the gap that it reports; and what it refuses beyond the
// model is what it lists as over-denials.
func TestSemantics(t *testing.T) {
	full := landlock.Host{ABI: 7, Privileged: true}
	old := landlock.Host{ABI: 2}
	for _, tt := range []struct {
		name     string
		tree     *sim.Tree
		policies iter.Seq[policy.Policy]
		host     landlock.Host
	}{
		{"directories", hostTree(), sim.AllPolicies(), full},
		{"several lists, old kernel", hostTree(), sim.OverlappingPolicies(), old},
		{"files", hostTree("/a/b/c", "/a/d", "/ab"), sim.AllPolicies(), full},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			probes := sim.Probes(tt.tree)
			tt.host.List, tt.host.MaxSiblings = lister(tt.tree), 100
			count := 0
			for p := range tt.policies {
				count++
				if !compare(t, tt.tree, probes, p, tt.host) {
					t.Fatalf("policy %+v", p)
				}
			}
			t.Logf("%d policies", count)
		})
	}
}

func compare(t *testing.T, tree *sim.Tree, probes []string, p policy.Policy, h landlock.Host) bool {
	t.Helper()
	r, err := policy.Resolve(p, tree)
	if err != nil {
		t.Errorf("Resolve: %v", err)
		return false
	}
	rs, err := landlock.New(r, h)
	if err != nil {
		t.Errorf("New: %v", err)
		return false
	}
	d, err := domain(rs, tree)
	if err != nil {
		t.Errorf("%v\nrules %v", err, rs.Grants)
		return false
	}
	truncates := slices.Contains(rs.Enforcement.Gaps, policy.GapTruncate)
	if truncates != (h.ABI < 3 && r.Restricts()) {
		t.Errorf("gap truncate is %v on ABI %d", truncates, h.ABI)
	}
	for _, path := range probes {
		want := sim.Model(p, path)
		leakRead, leakWrite := d.Leaks(path)
		if truncates {
			leakWrite = d.AllowsAny(path, sim.WriteFile|sim.RemoveDir|sim.RemoveFile|sim.MakeDir|sim.MakeReg|sim.MakeSym)
		}
		if isDevice(path) {
			leakWrite = false // the devices that stay writable; TestDevices has them one by one
		}
		if leakRead && want < policy.Read || leakWrite && want < policy.ReadWrite {
			t.Errorf("%q: read %v, write %v, and the policy says %v\nrules %v", path, leakRead, leakWrite, want, rs.Grants)
		}
		read, write := d.Access(path)
		if truncates {
			write = d.Allows(path, sim.WriteFile)
		}
		if lost(rs, path, want, read, write) {
			t.Errorf("%q: read %v, write %v, want %v, and no over-denial says so: %v\nrules %v", path, read, write, want, rs.Enforcement.OverDenials, rs.Grants)
		}
	}
	return !t.Failed()
}

func isDevice(path string) bool {
	return path == "/proc" || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/")
}

// lost reports whether the domain refuses what the policy allows without an
// over-denial that names the place: a directory that was granted entry by entry,
// what is new in it, and the kernel's own trees.
func lost(rs landlock.Ruleset, path string, want policy.Access, read, write bool) bool {
	lostRead := want >= policy.Read && !read
	lostWrite := want == policy.ReadWrite && !write
	if !lostRead && !lostWrite {
		return false
	}
	for _, o := range rs.Enforcement.OverDenials {
		switch o.Name {
		case "list", "extend":
			if (path == o.Path || dirOf(path) == o.Path && strings.HasSuffix(path, "/"+sim.Fresh)) && (o.Name == "list" || !lostRead) {
				return false
			}
		case "devices", "kernel-files":
			if policy.Holds(o.Path, path) {
				return false
			}
		}
	}
	return true
}

func dirOf(p string) string { return path.Dir(p) }
