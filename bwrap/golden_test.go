package bwrap_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/golden"
	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// The arguments for each stock policy, for a plain user with the Landlock layer;
// as root and without the layer for one.
func TestGolden(t *testing.T) {
	user := bwrap.Host{Layered: true, ControlFiles: []string{"/proc/sys", "/sys"}}
	root := user
	root.Privileged, root.Keep, root.Layered = true, []string{"CAP_CHOWN", "CAP_KILL"}, false
	for _, c := range sim.Stock() {
		t.Run(c.Name, func(t *testing.T) {
			golden.Compare(t, c.Name, plan(t, c, user))
			if c.Name == "cross-agent" {
				golden.Compare(t, c.Name+"-root", plan(t, c, root))
			}
		})
	}
}

// plan words a plan, one option a line. It must be one that bubblewrap carries
// out, once what is to be made has been made.
func plan(t *testing.T, c sim.Case, h bwrap.Host) []byte {
	t.Helper()
	r, err := policy.Resolve(c.Policy, c.Tree)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := bwrap.New(r, h)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for i, arg := range plan.Args {
		switch {
		case i == 0:
		case strings.HasPrefix(arg, "--"):
			out.WriteByte('\n')
		default:
			out.WriteByte(' ')
		}
		if strings.HasPrefix(arg, "/") {
			arg = fmt.Sprintf("%q", arg)
		}
		out.WriteString(arg)
	}
	out.WriteByte('\n')
	made := c.Tree.Clone()
	for _, root := range plan.Create {
		fmt.Fprintf(&out, "create %q\n", root.Path)
		made.Dirs(root.Path)
	}
	for _, root := range plan.Skipped {
		fmt.Fprintf(&out, "skipped %q\n", root.Path)
	}
	for _, check := range plan.Checks {
		fmt.Fprintf(&out, "check %q %s\n", check.Path, [...]string{bwrap.Same: "same", bwrap.Masked: "masked", bwrap.Fixed: "read-only"}[check.State])
	}
	fmt.Fprintf(&out, "%s gaps %v over-denials %v\n", plan.Enforcement.Level(), plan.Enforcement.Gaps, plan.Enforcement.OverDenials)
	if _, err := sim.Bwrap(plan.Args, made, nil); err != nil {
		t.Error(err)
	}
	return out.Bytes()
}
