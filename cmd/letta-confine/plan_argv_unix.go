//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
)

// planFlags are those of plan alone.
var planFlags = []flag{
	{"exec-argv", true, func(o *options, s string) error { return boolean(&o.execArgv, s) }},
	{"check", false, func(o *options, s string) error { return text(&o.checkPlan, s) }},
}

// checkByPath refuses what only a launcher that runs can do, for --exec-argv.
func (o *options) checkByPath() error {
	for _, f := range []struct {
		name  string
		asked bool
		why   string
	}{
		{"--keep-fd", len(o.keepFDs) > 0, "which descriptors are open then is not known"},
		{"--report", o.report != "", "nothing of the launcher would be there to write it"},
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

// byPath makes b a plan that somebody else carries out, from the arguments alone, or
// returns why none can. What that loses is added to what b leaves open.
func (in *inputs) byPath(b *backend) error {
	if b.err != nil {
		return b.err
	}
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

// changes is what the command's environment differs in from the caller's. The
// sentinel goes whether the caller has it now or later.
func (in *inputs) changes(backend string) []string {
	changes := launch.Changes(os.Environ(), in.childEnv(backend))
	if _, set := launch.Getenv(changes, sentinel); !set && !slices.Contains(changes, sentinel) {
		changes = append(changes, sentinel)
	}
	return changes
}
