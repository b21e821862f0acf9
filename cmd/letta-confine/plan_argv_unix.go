//go:build (linux || darwin) && !launcher

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// checkByPath refuses what only a launcher that runs can do, for --exec-argv.
func (o *options) checkByPath() error {
	for _, f := range []struct {
		name  string
		asked bool
		why   string
	}{
		{"--keep-fd", len(o.keepFDs) > 0, "which descriptors are open then is not known"},
		{"--report", o.report != "", "nothing of the launcher would be there to write it"},
		{"--credential", len(o.credentials) > 0, "the value would stand in the argument list, where everybody can read it"},
		{"--audit-log", o.auditLog != "", "nothing of the launcher would be there to write it"},
		{"--create-writable", o.createWritable, "nothing of the launcher would be there to make them"},
		{"--on-unavailable run", o.onUnavailable == "run", "an argument list confines or fails"},
		{"--die-with-parent", o.dieWithParent, "nobody would watch the calling process"},
		{"--isolate-processes", o.isolate, "nobody would watch the calling process"},
	} {
		if f.asked {
			return usageError(fmt.Sprintf("--exec-argv does not go with %s: %s", f.name, f.why))
		}
	}
	return nil
}

// byPath makes what the options ask for a plan that somebody else carries out, from
// the arguments alone; or says why none can.
func (o *options) byPath() error {
	o.exec = true
	if err := o.checkByPath(); err != nil {
		return err
	}
	// Whether a backend will do is asked of what it is worth that way.
	for i, m := range mechanisms {
		mechanisms[i].make = func(in *inputs) backend {
			b := m.make(in)
			b.mechanism = m
			if b.err == nil {
				b.err = in.byPath(&b)
			}
			return b
		}
	}
	return nil
}

// byPath adds to b what is lost where nothing of the launcher is outside.
func (in *inputs) byPath(b *backend) error {
	if b.name == "landlock" {
		return withHint(errors.New("no argument list can express Landlock: a process restricts itself"),
			"use bubblewrap, or start the command through letta-confine")
	}
	if len(in.private) > 0 && b.name != "bwrap" {
		return withHint(errors.New("--exec-argv: nobody would make the folder of --tmp private"), "leave out --tmp private, or start the command through letta-confine")
	}
	for _, m := range in.makes {
		if !hostfs.Visible(m.path) {
			return withHint(fmt.Errorf("--exec-argv: nobody would make the directory %q", m.path), "create it first")
		}
	}
	self, err := launcherPath()
	if err != nil {
		return err
	}
	if d := in.resolved.Decide(self); d.Access == policy.None {
		return withHint(fmt.Errorf("the launcher %q, which starts the command from inside, is hidden by denied root %q", self, d.Root.Path),
			"install the launcher outside the denied root, or carve it out with a readonly root")
	}
	b.enforcement.Gaps = append(b.enforcement.Gaps, policy.GapStale)
	// Only a launcher can start bubblewrap where nothing propagates to.
	b.enforcement.OverDenials = slices.DeleteFunc(b.enforcement.OverDenials, func(o policy.OverDenial) bool { return o.Name == "late-mounts" })
	if in.opts.scrubEnv {
		b.enforcement.Limits = append(b.enforcement.Limits, "environment")
	}
	if b.name == "seatbelt" {
		b.enforcement.Limits = append(b.enforcement.Limits, "descriptors")
	}
	if words, err := in.execWords(b); err != nil {
		return err
	} else if longest(append(words, in.opts.args...)) >= maxWord {
		return withHint(errors.New("--exec-argv: an argument would be longer than the kernel takes"), "name fewer roots, or start the command through letta-confine")
	}
	return nil
}

// maxWord is MAX_ARG_STRLEN of Linux (execve(2)), the zero byte included.
const maxWord = 128 << 10

func longest(words []string) (n int) {
	for _, w := range words {
		n = max(n, len(w))
	}
	return n
}

// addArgv adds the argument list of the chosen backend.
func (d *planDocument) addArgv(in *inputs, chosen *backend) error {
	words, err := in.execWords(chosen)
	if err != nil {
		return err
	}
	d.ExecArgv = append(words, in.opts.args...)
	d.Notes = append(d.Notes, "execArgv is to be run, and so holds what the command is given as it is, secrets too")
	return nil
}

// execWords is all that stands before the command.
func (in *inputs) execWords(b *backend) ([]string, error) {
	self, err := launcherPath()
	if err != nil {
		return nil, err
	}
	changes := in.changes(b.name)
	if b.name != "seatbelt" {
		return b.execWords(in, self, changes), nil
	}
	resolved, err := in.shared()
	if err != nil {
		return nil, err
	}
	stage := stageOf(resolved)
	stage.env = changes
	return b.profile.Argv(stage.words(self)), nil
}
