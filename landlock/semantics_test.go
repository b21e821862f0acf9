package landlock_test

import (
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// lister answers Host.List from a tree.
func lister(tree *sim.Tree) func(string) ([]landlock.Entry, error) {
	entries := make(map[string][]landlock.Entry)
	for _, path := range tree.Paths()[1:] {
		dir := sim.Above(path)
		entries[dir] = append(entries[dir], landlock.Entry{Name: name(path), Kind: tree.Kind(path)})
	}
	return func(dir string) ([]landlock.Entry, error) { return entries[dir], nil }
}

// name is the last component of a path.
func name(path string) string {
	for i := len(path) - 1; ; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
}

// For a plain user, who may write about its own processes, no ruleset allows what
// the model denies, in /proc and /dev neither but for the devices by name.
// internal/sim has the comparison with the other backends, and the over-denials.
func TestSemanticsAsUser(t *testing.T) {
	tree := sim.SmallTree().Dirs("/dev/pts", "/proc/1", "/sys/kernel").Add(policy.Device, "/dev/null", "/dev/sda")
	host := landlock.Host{ABI: 7, List: lister(tree), MaxSiblings: 100}
	allowed := map[string]uint64{"/proc": sim.WriteFile | sim.Truncate, "/dev/null": sim.WriteFile | sim.Truncate, "/dev/pts": sim.WriteFile | sim.Truncate}
	probes := sim.Probes(tree)
	n := sim.Sweep(t, tree, sim.OverlappingPolicies(), func(t testing.TB, p policy.Policy, r policy.Resolved) {
		rs, err := landlock.New(r, host)
		if err != nil {
			t.Errorf("New(%+v): %v", p, err)
			return
		}
		d, err := domain(rs, tree)
		if err != nil {
			t.Errorf("%+v: %v\nrules %v", p, err, rs.Grants)
			return
		}
		for _, path := range probes {
			want := sim.Model(p, path)
			var exempt uint64
			for dir, rights := range allowed {
				if policy.Holds(dir, path) {
					exempt |= rights
				}
			}
			write := d.AllowsAny(path, sim.MakeBlock<<1-1&^(sim.Execute|sim.ReadFile|sim.ReadDir|exempt)|sim.MakeSym|sim.Truncate&^exempt)
			read := d.AllowsAny(path, sim.Execute|sim.ReadFile|sim.ReadDir)
			if read && want < policy.Read || write && want < policy.ReadWrite {
				t.Errorf("%+v: %q: read %v, write %v, want %v\nrules %v", p, path, read, write, want, rs.Grants)
			}
		}
	})
	t.Logf("%d policies", n)
}
