package bwrap_test

import (
	"testing"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// As root without a Landlock layer the plan has more mounts than the one that
// internal/sim compares with the other backends, and means the same: nothing more
// can be read or written on the host, nothing less, no write vanishes, and no
// directory above a root that restricts can be moved.
func TestSemanticsAsRoot(t *testing.T) {
	host := bwrap.Host{Privileged: true, Keep: []string{"CAP_CHOWN"}, ControlFiles: []string{"/proc/sys", "/sys"}}
	tree := sim.NewTree().Dirs("/a", "/dev/shm", "/proc/sys", "/sys").Files("/ab").Add(policy.Other, "/a/b")
	probes := sim.Probes(tree)
	n := sim.Sweep(t, tree, sim.OverlappingPolicies(), func(t testing.TB, p policy.Policy, r policy.Resolved) {
		plan, err := bwrap.New(r, host)
		if err != nil {
			t.Errorf("New(%+v): %v", p, err)
			return
		}
		view, err := sim.Bwrap(plan.Args, tree, nil)
		if err != nil {
			t.Errorf("%+v: %v\nargv %q", p, err, plan.Args)
			return
		}
		m := sim.NewMeaning(p, tree)
		for _, path := range probes {
			want := m.Access(path)
			read, write := view.Access(path)
			switch {
			case path == "/proc/sys" || path == "/sys":
				if write {
					t.Errorf("%+v: %q can be written\nargv %q", p, path, plan.Args)
				}
			case sim.IsKernels(path):
			case read != (want >= policy.Read), write != (want == policy.ReadWrite), view.Void(path), path != "/" && view.Entry(path) != m.Entry(path):
				t.Errorf("%+v: %q: read %v, write %v, void %v, entry %v, want %v\nargv %q",
					p, path, read, write, view.Void(path), view.Entry(path), want, plan.Args)
			}
		}
	})
	t.Logf("%d policies", n)
}
