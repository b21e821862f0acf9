package seatbelt_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/seatbelt"
)

// Every policy over a small tree, in which one root is a file, one a socket and
// one missing, under both readings of the precedence of operations. What the
// other backends know too is compared with them in internal/sim; this adds what
// Seatbelt asks about by itself, and the other spelling of each path.
func TestSemantics(t *testing.T) {
	const data = "/System/Volumes/Data"
	tree := sim.NewTree().Dirs("/a/b").Files("/ab").Add(policy.Other, "/a/d")
	probes := append(sim.Probes(tree), "/abc", "/a/bc", "/a/b/c", "/a/b/c/new", "/a/b/c/new/x")
	n := sim.Sweep(t, tree, sim.AllPolicies(), func(t testing.TB, p policy.Policy, r policy.Resolved) {
		plan, err := seatbelt.Profile(r)
		if err != nil {
			t.Errorf("Profile(%+v): %v", p, err)
			return
		}
		s := evaluate(t, plan, nil)
		s.IsFile = func(path string) bool { return tree.Kind(strings.TrimPrefix(path, data)) != policy.Dir }
		for _, s.Flat = range []bool{false, true} {
			judge(t, s, p, sim.NewMeaning(p, tree), plan, probes)
		}
	})
	t.Logf("%d policies", n)
}

// judge compares one evaluated profile with the model on every probe.
func judge(t testing.TB, s *sim.SBPL, p policy.Policy, m sim.Meaning, plan seatbelt.Plan, probes []string) {
	check := func(what, path string, got sim.Verdict, want bool) {
		if (got == sim.VerdictAllow) != want || got == sim.VerdictAmbiguous {
			t.Errorf("%s(%q) = %v, want allowed %v (flat %v)\n%+v\n%s%q", what, path, got, want, s.Flat, p, plan.Text, plan.Params)
		}
	}
	for _, path := range probes {
		read, write := m.Access(path) >= policy.Read, m.Access(path) == policy.ReadWrite
		check("Read", path, s.Read(path), read)
		check("Write", path, s.Write(path), write)
		check("Connect", path, s.Connect(path), read)
		check("Exec", path, s.Decide("process-exec*", path), read)
		check("Clone", path, s.Decide("file-clone", path), read)
		check("Link", path, s.Link(path, "/free"), write && m.Create("/free"))
		check("Chmod", path, s.Decide("file-write-mode", path), write)
		if !slices.Contains(p.Denied, path) || m.Access(sim.Above(path)) > policy.None {
			// Whether a denied root inside another one can be seen is left open.
			check("Stat", path, s.Stat(path), read || m.Shown(path))
		}
		if path != "/" { // which the kernel refuses to remove or to make
			check("Create", path, s.Create(path), m.Create(path))
			check("Unlink", path, s.Unlink(path), m.Entry(path))
		}
		if !write {
			check("Write, other spelling", path, s.Write("/System/Volumes/Data"+path), false)
		}
		if !read {
			check("Read, other spelling", path, s.Read("/System/Volumes/Data"+path), false)
		}
	}
}

// Profile keeps no state: profiles made at once come out as they do alone.
func TestConcurrent(t *testing.T) {
	r := resolve(t, goldenCases[1].p, goldenCases[1].fs)
	want, _ := seatbelt.Profile(r)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got, _ := seatbelt.Profile(r); got.Text != want.Text || !slices.Equal(got.Params, want.Params) {
				t.Error("profiles of one policy differ")
			}
		})
	}
	wg.Wait()
}
