package sim_test

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/seatbelt"
)

// One policy means one thing. For every policy over the small tree, with files
// and missing roots in it, and for random ones over larger trees, the model, the
// Seatbelt profile and bubblewrap's arguments answer alike for each path when it
// is read, written, listed and looked at, and when its name is made, removed,
// moved away and moved upon; a Landlock ruleset allows nothing more, leaves open
// the gaps that it reports and no others, and refuses beyond the policy what it
// lists and all of that.
//
// Left out are the list and stat of a denied root and of a denied directory above
// a carve-out, and /dev, /proc and /sys, which each mechanism treats in its own
// way and tests in its own package.
func TestEquality(t *testing.T) {
	start, total := time.Now(), 0
	host := func(abi int) landlock.Host {
		return landlock.Host{ABI: abi, Privileged: abi%2 == 1, MaxSiblings: 1000}
	}
	for _, tt := range []struct {
		name     string
		tree     *sim.Tree
		policies iter.Seq[policy.Policy]
		host     landlock.Host
		want     int
	}{
		{"directories", sim.SmallTree(), sim.AllPolicies(), host(7), 25000},
		{"files", sim.SmallTree("/a/b/c", "/a/d", "/ab"), sim.AllPolicies(), host(9), 25000},
		{"missing", sim.NewTree().Dirs("/a/d"), sim.AllPolicies(), host(7), 25000},
		{"several lists", sim.SmallTree(), sim.OverlappingPolicies(), host(2), 16000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := newJudge(tt.tree, tt.host, sim.Probes(sim.SmallTree())...).sweep(t, tt.policies)
			if total += n; n != tt.want && !sim.Strided && !t.Failed() {
				t.Errorf("%d policies, want %d", n, tt.want)
			}
		})
	}
	t.Run("random", func(t *testing.T) {
		const seed = 3
		rng := rand.New(rand.NewPCG(seed, seed))
		for i := range 400 {
			tree := sim.RandomTree(rng)
			total += newJudge(tree, host(1+i%9)).sweep(t, sim.RandomPolicies(rng, tree, 10))
			if t.Failed() {
				t.Fatalf("tree %d of seed %d: %q", i, seed, tree.Paths())
			}
		}
	})
	line := fmt.Sprintf("%d policies mean the same on every backend, compared in %v", total, time.Since(start).Round(time.Second/10))
	t.Log(line)
	// The go tool keeps what a passing test prints to itself; make shows this.
	if file := os.Getenv("CONFINE_COUNTS"); file != "" && !t.Failed() {
		if err := os.WriteFile(file, []byte(line+"\n"), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// judge compares what three backends make of policies over one tree.
type judge struct {
	tree   *sim.Tree
	probes []string
	host   landlock.Host
}

// newJudge returns a judge over a tree, of which more are paths that are not in it.
func newJudge(tree *sim.Tree, host landlock.Host, more ...string) judge {
	tree.Dirs("/dev/shm", "/dev/pts", "/proc/sys", "/sys/kernel").Add(policy.Device, "/dev/null", "/dev/sda")
	entries := make(map[string][]landlock.Entry)
	for _, path := range tree.Paths()[1:] {
		dir := sim.Above(path)
		name := strings.TrimPrefix(path[len(dir):], "/")
		entries[dir] = append(entries[dir], landlock.Entry{Name: name, Kind: tree.Kind(path)})
	}
	host.List = func(dir string) ([]landlock.Entry, error) { return entries[dir], nil }
	probes := append(sim.Probes(tree), slices.DeleteFunc(more, func(path string) bool { return belowFile(tree, path) })...)
	slices.Sort(probes)
	return judge{tree, slices.Compact(probes), host}
}

func belowFile(tree *sim.Tree, path string) bool {
	return slices.ContainsFunc(policy.Ancestors(path), func(dir string) bool { return tree.Kind(dir) > policy.Dir })
}

func (j judge) sweep(t *testing.T, policies iter.Seq[policy.Policy]) int {
	return sim.Sweep(t, j.tree, policies, func(t testing.TB, p policy.Policy, r policy.Resolved) {
		m := sim.NewMeaning(p, j.tree)
		for _, err := range []error{j.seatbelt(m, r), j.bwrap(p, r), j.landlock(m, r)} {
			if err != nil {
				t.Errorf("policy %+v\n%v", p, err)
			}
		}
	})
}

// answers is what a backend says of each operation.
type answers struct {
	read, write, list, stat, create, unlink func(path string) bool
	rename                                  func(src, dst string) bool

	// unseen says of a path that nothing is there and nothing can be made there,
	// so that there is no reading it.
	unseen func(path string) bool
}

// compare returns the first difference between a backend and the model.
func compare(m sim.Meaning, probes []string, a answers) error {
	for _, path := range probes {
		if sim.IsKernels(path) {
			continue
		}
		beside := strings.TrimSuffix(sim.Above(path), "/") + "/beside"
		access, shown, unseen := m.Access(path), m.Shown(path), a.unseen(path)
		for _, q := range []struct {
			op        string
			leave     bool
			got, want bool
		}{
			{"read", unseen, a.read(path), access >= policy.Read},
			{"write", false, a.write(path), access == policy.ReadWrite},
			{"list", shown || unseen, a.list(path), access >= policy.Read},
			{"stat", shown || unseen, a.stat(path), access >= policy.Read},
			{"create", path == "/", a.create(path), m.Create(path)},
			{"unlink", path == "/", a.unlink(path), m.Entry(path)},
			{"rename from", path == "/", a.rename(path, beside), m.Entry(path) && m.Create(beside)},
			{"rename onto", path == "/", a.rename(beside, path), m.Entry(beside) && m.Create(path)},
		} {
			if q.got != q.want && !q.leave {
				return fmt.Errorf("%s %q: allowed %v, want %v", q.op, path, q.got, q.want)
			}
		}
	}
	return nil
}

func never(string) bool { return false }

// seatbelt judges a profile. What a missing name may become is not known, hence
// it counts as a file where it makes a difference.
func (j judge) seatbelt(m sim.Meaning, r policy.Resolved) error {
	plan, err := seatbelt.Profile(r)
	if err != nil {
		return err
	}
	params := make(map[string]string, len(plan.Params))
	for _, p := range plan.Params {
		params[p.Name] = p.Value
	}
	s, err := sim.ParseSBPL(plan.Text, params)
	if err != nil {
		return fmt.Errorf("seatbelt: %w", err)
	}
	s.IsFile = func(path string) bool { return j.tree.Kind(path) != policy.Dir }
	var ambiguous error
	says := func(op func(string) sim.Verdict) func(string) bool {
		return func(path string) bool {
			v := op(path)
			if v == sim.VerdictAmbiguous && ambiguous == nil {
				ambiguous = fmt.Errorf("%q: ambiguous", path)
			}
			return v == sim.VerdictAllow
		}
	}
	a := answers{
		read: says(s.Read), write: says(s.Write), list: says(s.List), stat: says(s.Stat),
		create: says(s.Create), unlink: says(s.Unlink), unseen: never,
		rename: func(src, dst string) bool {
			return says(func(string) sim.Verdict { return s.Rename(src, dst) })(src)
		},
	}
	if err := errors.Join(compare(m, j.probes, a), ambiguous); err != nil {
		return fmt.Errorf("seatbelt: %w\n%s%q", err, plan.Text, plan.Params)
	}
	return nil
}

// bwrap judges an argument vector. Where the plan asks for missing roots to be
// made, it is that of a second resolution, as in a launch.
func (j judge) bwrap(p policy.Policy, r policy.Resolved) error {
	tree := j.tree
	plan, err := bwrap.New(r, bwrap.Host{Layered: true})
	if err == nil && len(plan.Create) > 0 {
		tree = tree.Clone()
		for _, root := range plan.Create {
			tree.Dirs(root.Path)
		}
		if r, err = policy.Resolve(p, tree); err == nil {
			plan, err = bwrap.New(r, bwrap.Host{Layered: true})
		}
	}
	if err != nil {
		return err
	}
	if len(plan.Create) > 0 && tree != j.tree {
		return fmt.Errorf("bwrap: a second plan asks for %v", plan.Create)
	}
	v, err := sim.Bwrap(plan.Args, tree, nil)
	if err != nil {
		return fmt.Errorf("%w\n%q", err, plan.Args)
	}
	read := func(path string) bool { ok, _ := v.Access(path); return ok }
	err = compare(sim.NewMeaning(p, tree), j.probes, answers{
		read: read, list: read, stat: v.Stat,
		write:  func(path string) bool { _, ok := v.Access(path); return ok || v.Void(path) },
		create: v.Entry, unlink: v.Entry,
		rename: func(src, dst string) bool { return v.Entry(src) && v.Entry(dst) },
		unseen: under(plan.Skipped),
	})
	if err != nil {
		return fmt.Errorf("bwrap: %w\n%q", err, plan.Args)
	}
	return nil
}

// under returns whether a path is one of the roots or beneath one.
func under(roots []policy.Root) func(path string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(roots, func(root policy.Root) bool { return policy.Holds(root.Path, path) })
	}
}
