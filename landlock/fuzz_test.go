package landlock_test

import (
	"slices"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// Whatever the tree, the policy and the ABI, the kernel takes the rules, and they
// allow nothing that the model denies, but for the gap truncate where it is
// reported.
func FuzzLandlockRules(f *testing.F) {
	sim.AddFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, p := sim.FromBytes(data)
		tree.Dirs("/dev/pts", "/proc/1", "/sys").Add(policy.Device, "/dev/null", "/dev/sda")
		r, err := policy.Resolve(p, tree)
		if err != nil {
			return // a denied root that is carved out, too
		}
		rs, err := landlock.New(r, landlock.Host{ABI: 1 + len(data)%9, List: lister(tree), MaxSiblings: 1000, Privileged: len(data)%2 == 0})
		if err != nil {
			t.Fatal(err)
		}
		d, err := domain(rs, tree)
		if err != nil {
			t.Fatalf("%+v: %v\n%v", p, err, rs.Grants)
		}
		m := sim.NewMeaning(p, tree)
		changes := sim.MakeSym<<1 - 1&^(sim.Execute|sim.ReadFile|sim.ReadDir)
		if !slices.Contains(rs.Enforcement.Gaps, policy.GapTruncate) {
			changes |= sim.Truncate
		}
		for _, path := range sim.Probes(tree) {
			read, write := d.AllowsAny(path, sim.Execute|sim.ReadFile|sim.ReadDir), d.AllowsAny(path, changes)
			_, entry := d.Entry(path)
			want := m.Access(path)
			if read && want < policy.Read || !sim.IsKernels(path) && (write && want < policy.ReadWrite || path != "/" && entry && !m.Entry(path) && !m.Create(path)) {
				t.Errorf("%+v: %q: read %v, write %v, entry %v, want %v\n%v", p, path, read, write, entry, want, rs.Grants)
			}
		}
	})
}

// domain reads a ruleset with the interpreter. Grants on what is not there are
// left out, as Restrict leaves out those that are optional.
func domain(rs landlock.Ruleset, tree *sim.Tree) (sim.Domain, error) {
	var grants []sim.Grant
	for _, g := range rs.Grants {
		if tree.Kind(g.Path) != policy.Missing || !g.Optional {
			grants = append(grants, sim.Grant{Path: g.Path, Rights: uint64(g.Rights)})
		}
	}
	return sim.Landlock(uint64(rs.Handled), grants, tree)
}
