package main

import (
	"slices"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/landlock"
)

// describe adds what this system's mechanisms would do.
func (n native) describe(name string, p *planJSON) {
	p.ABI, p.Handled, p.Siblings = n.ruleset.ABI, n.ruleset.Handled.String(), n.ruleset.Siblings
	for _, g := range n.ruleset.Grants {
		p.Rules = append(p.Rules, grantJSON{g.Path, g.Rights.String()})
	}
	for _, c := range harden.Kept {
		p.Capabilities = append(p.Capabilities, c.Name)
	}
	if harden.HasFilter {
		p.Filtered = harden.Filtered(n.filter)
	}
	if name == "landlock" {
		return
	}
	p.ControlFiles = bwrap.ControlFiles
	p.Argv = append([]string{n.helper.Path}, n.plan.Args...)
	for _, root := range n.plan.Create {
		p.Creates = append(p.Creates, root.Path)
	}
}

// program is what a run would start, or "".
func (n native) program() string { return n.helper.Path }

// execWords is bubblewrap with the stage inside, which takes its plan from its
// arguments.
func (n native) execWords(in *inputs, self string, changes []string) []string {
	stage := inner.Plan{
		Env: changes, Dir: in.cwd, DirID: in.cwdID, Checks: n.plan.Checks, Layer: n.ruleset,
		NoUserNS: n.filter.NoUserNS, NewSession: in.opts.newSession, Report: -1,
	}
	return slices.Concat([]string{n.helper.Path}, n.plan.Args, []string{"--"}, stage.Words(self))
}

// landlockABI is what a plan says of Landlock.
func landlockABI() int {
	abi, err := landlock.ABI()
	if err != nil {
		return 0
	}
	return abi
}
