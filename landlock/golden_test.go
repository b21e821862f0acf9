package landlock_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/letta-confine/letta-confine/internal/golden"
	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// The ruleset for each stock policy, alone and over bubblewrap, for a plain user
// on ABI 7; for one of them on ABI 1.
func TestGolden(t *testing.T) {
	for _, c := range sim.Stock() {
		t.Run(c.Name, func(t *testing.T) {
			golden.Compare(t, c.Name, ruleset(t, c, 7))
			if c.Name == "cross-agent" {
				golden.Compare(t, c.Name+"-abi1", ruleset(t, c, 1))
			}
		})
	}
}

// ruleset words a ruleset, one grant a line.
func ruleset(t *testing.T, c sim.Case, abi int) []byte {
	t.Helper()
	r, err := policy.Resolve(c.Policy, c.Tree)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := landlock.New(r, landlock.Host{ABI: abi, List: lister(c.Tree), MaxSiblings: 100})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "handled: %v\n", rs.Handled)
	grants := func(rs landlock.Ruleset) {
		for _, g := range rs.Grants {
			note := ""
			switch {
			case g.ID != policy.ID{}:
				note = " root"
			case g.Optional:
				note = " optional"
			}
			fmt.Fprintf(&out, "%q%s: %v\n", g.Path, note, g.Rights)
		}
	}
	grants(rs)
	for _, root := range rs.Skipped {
		fmt.Fprintf(&out, "skipped %q\n", root.Path)
	}
	e := rs.Enforcement
	fmt.Fprintf(&out, "%s gaps %v over-denials %v limits %v\nover bubblewrap:\n", e.Level(), e.Gaps, e.OverDenials, e.Limits)
	grants(landlock.Inside(r, abi, false, nil))
	return out.Bytes()
}
