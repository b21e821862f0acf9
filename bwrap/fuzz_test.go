package bwrap_test

import (
	"testing"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// Whatever the tree and the policy, the arguments are ones that bubblewrap
// carries out, and mean on every path what the model says.
func FuzzBwrapArgv(f *testing.F) {
	sim.AddFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, p := sim.FromBytes(data)
		tree.Dirs("/dev/shm", "/proc/sys", "/sys")
		host := bwrap.Host{Layered: len(data)%2 == 0, Privileged: len(data)%3 == 0, ControlFiles: []string{"/proc/sys", "/sys"}}
		var plan bwrap.Plan
		for again := range 2 {
			r, err := policy.Resolve(p, tree)
			if err != nil {
				return // a denied root that is carved out, too
			}
			if plan, err = bwrap.New(r, host); err != nil {
				t.Fatal(err)
			}
			for _, root := range plan.Create {
				if again > 0 {
					t.Fatalf("%+v: %q is made and still missing", p, root.Path)
				}
				tree.Dirs(root.Path)
			}
		}
		v, err := sim.Bwrap(plan.Args, tree, nil)
		if err != nil {
			t.Fatalf("%+v: %v\n%q", p, err, plan.Args)
		}
		m := sim.NewMeaning(p, tree)
		for _, path := range sim.Probes(tree) {
			if sim.IsKernels(path) {
				continue
			}
			want := m.Access(path)
			read, write := v.Access(path)
			if read != (want >= policy.Read) || write != (want == policy.ReadWrite) || v.Void(path) || path != "/" && v.Entry(path) != m.Entry(path) {
				t.Errorf("%+v: %q: read %v, write %v, void %v, entry %v, want %v, entry %v\n%q",
					p, path, read, write, v.Void(path), v.Entry(path), want, m.Entry(path), plan.Args)
			}
		}
	})
}
