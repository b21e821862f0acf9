package main

import (
	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/harden"
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

// landlockABI is what a plan says of Landlock.
func landlockABI() int {
	abi, err := landlock.ABI()
	if err != nil {
		return 0
	}
	return abi
}
