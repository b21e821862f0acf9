//go:build !launcher

package main

import (
	"slices"

	"github.com/letta-confine/letta-confine/internal/inner"
)

// execWords is bubblewrap with the stage inside, which takes its plan from its
// arguments.
func (n native) execWords(in *inputs, self string, changes []string) []string {
	stage := inner.Plan{
		Env: changes, Dir: in.cwd, DirID: in.cwdID, Checks: n.plan.Checks, Layer: n.ruleset,
		NoUserNS: n.filter.NoUserNS, NewSession: in.opts.newSession, Report: -1,
	}
	return slices.Concat([]string{n.helper.Path}, n.plan.Args, []string{"--"}, stage.Words(self))
}
