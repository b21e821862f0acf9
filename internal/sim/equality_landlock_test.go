package sim_test

import (
	"fmt"
	"slices"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// landlock judges a ruleset: it allows nothing that the model denies, and what it
// says of itself is the whole truth and nothing else.
func (j judge) landlock(m sim.Meaning, r policy.Resolved) error {
	rs, err := landlock.New(r, j.host)
	if err != nil {
		return err
	}
	d, err := domain(rs, j.tree)
	if err != nil {
		return err
	}
	l := ledger{rs: rs, tree: j.tree, used: make([]bool, len(rs.Enforcement.OverDenials)), gaps: make(map[policy.Gap]bool)}
	l.gaps[policy.GapDeferred] = j.host.Privileged && m.Access("/") == policy.ReadWrite // root's own files are run by others later
	for _, path := range j.probes {
		if err := l.path(m, d, path); err != nil {
			return fmt.Errorf("landlock: %w\n%v\n%v", err, rs.Grants, rs.Enforcement)
		}
	}
	if err := l.balance(); err != nil {
		return fmt.Errorf("landlock: %w\n%v\n%v", err, rs.Grants, rs.Enforcement)
	}
	return nil
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

// ledger holds what a ruleset was found to leave open and to refuse, against
// what it reports.
type ledger struct {
	rs   landlock.Ruleset
	tree *sim.Tree
	used []bool              // by index of the reported over-denial
	gaps map[policy.Gap]bool // found
}

func (l *ledger) handles(right uint64) bool { return uint64(l.rs.Handled)&right != 0 }

func (l *ledger) path(m sim.Meaning, d sim.Domain, path string) error {
	access, name := m.Access(path), m.Entry(path)
	absent := l.absent(path)
	kernels := sim.IsKernels(path)
	readable, writable := d.Access(path)
	leakRead, leakWrite := d.Leaks(path)
	every, some := d.Entry(path)
	if !l.handles(sim.Truncate) {
		// The gap truncate; that it is reported is seen at the end.
		leakWrite = d.AllowsAny(path, sim.WriteFile|sim.RemoveDir|sim.RemoveFile|sim.MakeDir|sim.MakeReg|sim.MakeSym|sim.MakeBlock)
	}
	switch {
	case leakRead && access < policy.Read && !absent:
		return fmt.Errorf("%q can be read", path)
	case leakWrite && access < policy.ReadWrite && !kernels: // the landlock package has the devices one by one
		return fmt.Errorf("%q can be written", path)
	case some && path != "/" && !name && !m.Create(path) && !kernels:
		return fmt.Errorf("the name %q can be changed", path)
	case !readable && access >= policy.Read && !absent && !l.reported(path, path, "list"):
		return fmt.Errorf("%q cannot be read, and no over-denial says so", path)
	case !writable && access == policy.ReadWrite && !l.reported(path, path, "list", "extend"):
		return fmt.Errorf("%q cannot be written, and no over-denial says so", path)
	case !every && name && !l.reported(sim.Above(path), path, "list", "extend"):
		return fmt.Errorf("the name %q cannot be changed, and no over-denial says so", path)
	}
	if writable && l.tree.Kind(path) == policy.Dir && d.Allows(path, sim.Refer) == l.lists("refer") {
		return fmt.Errorf("moves into %q are allowed %v, and the over-denial refer is reported %v", path, d.Allows(path, sim.Refer), l.lists("refer"))
	}
	if !absent && !kernels {
		l.leftOpen(d, path, access)
	}
	return nil
}

// lists reports whether an over-denial of that name, for no one place, is reported.
func (l *ledger) lists(name string) bool {
	return slices.Contains(l.rs.Enforcement.OverDenials, policy.OverDenial{Name: name})
}

// leftOpen notes the gaps that a path stands open to. Landlock asks nobody about
// metadata and names.
func (l *ledger) leftOpen(d sim.Domain, path string, access policy.Access) {
	restricted, denied := access < policy.ReadWrite, access == policy.None
	for gap, open := range map[policy.Gap]bool{
		policy.GapMetadata:    restricted,
		policy.GapNames:       denied,
		policy.GapUnixSockets: denied && d.Allows(path, sim.ResolveUnix),
		policy.GapTruncate:    restricted && d.Allows(path, sim.Truncate),
	} {
		l.gaps[gap] = l.gaps[gap] || open
	}
}

// absent reports whether path belongs to a missing root that the command cannot
// bring into being either, so that there is nothing to be granted or denied.
func (l *ledger) absent(path string) bool {
	return slices.ContainsFunc(l.rs.Skipped, func(root policy.Root) bool {
		return !root.Creatable && policy.Holds(root.Path, path)
	})
}

// reported finds the over-denials that speak of what was lost: at a directory
// that was granted entry by entry, at what is new in one, or in the kernel's own
// trees.
func (l *ledger) reported(dir, path string, names ...string) bool {
	for l.tree.Kind(dir) == policy.Missing {
		dir = sim.Above(dir)
	}
	found := false
	for i, o := range l.rs.Enforcement.OverDenials {
		switch o.Name {
		case "list", "extend":
			if o.Path != dir || !slices.Contains(names, o.Name) {
				continue
			}
		case "devices", "kernel-files":
			if !policy.Holds(o.Path, path) {
				continue
			}
		default:
			continue
		}
		found = true
		// Only what cannot be read bears out that a directory cannot be listed.
		l.used[i] = l.used[i] || o.Name != "list" || len(names) == 1
	}
	return found
}

// balance compares what was found with what is reported.
func (l *ledger) balance() error {
	for i, o := range l.rs.Enforcement.OverDenials {
		if o.Name == "refer" {
			l.used[i] = !l.handles(sim.Refer)
		}
		if !l.used[i] {
			return fmt.Errorf("over-denial %v is reported, and nothing is lost by it", o)
		}
	}
	for gap, open := range l.gaps {
		if open != slices.Contains(l.rs.Enforcement.Gaps, gap) {
			return fmt.Errorf("gap %s is reported %v, and found %v", gap, !open, open)
		}
	}
	for _, gap := range l.rs.Enforcement.Gaps {
		if !l.gaps[gap] {
			return fmt.Errorf("gap %s is reported and not found", gap)
		}
	}
	return nil
}
