//go:build linux || darwin

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/letta-confine/letta-confine/internal/launch"
)

// environment makes in.env the command's: without what --scrub-env drops, with what
// --credential and --env give, and without letta-code's sentinel, which only a confined run sets.
//
// It comes after everything that reads a variable: what the policy is made from is
// the caller's environment, not the command's.
func (in *inputs) environment() {
	o := in.opts
	in.sentinel, _ = launch.Getenv(in.env, sentinel)
	if o.scrubEnv {
		in.env, in.about.Scrubbed = launch.Scrub{Keep: o.keepEnv}.Apply(in.env)
	}
	for _, c := range in.secrets {
		in.env = launch.Unsetenv(in.env, c.Ref) // the command has it under the name that was asked for
	}
	for _, c := range in.secrets {
		in.env = launch.Setenv(in.env, c.Name, c.value)
	}
	for _, entry := range o.setEnv {
		name, value, given := strings.Cut(entry, "=")
		if !given {
			var ok bool
			if value, ok = os.LookupEnv(name); !ok {
				continue
			}
		} else if launch.Secret(name, value) {
			in.notes = append(in.notes, fmt.Sprintf("--env %s: everybody on this host can read the value in the list of processes; pass --env %s to hand on the caller's", name, name))
		}
		in.env = launch.Setenv(in.env, name, value)
	}
	in.env = launch.Unsetenv(in.env, sentinel)
}
