//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/probe"
	"github.com/letta-confine/letta-confine/seatbelt"
)

// mechanism is one way to confine a command, as this system has it.
type mechanism struct {
	name string

	// make gets it ready for the policy, and changes nothing.
	make func(*inputs) backend

	// start runs the command. An error that is a startError left the command
	// unstarted and the launcher as it was.
	start func(*inputs, *report, *backend) (int, error)

	// find looks for it, for probe, and returns the flags that take just that
	// one. An error comes with a code.
	find func(*probed, *options) (flags []string, code string, err error)

	// explain says why a step of probe failed, or nothing; nil for never.
	explain func(p probed, self string, o *options, r probe.Result) probe.Why
}

func (m mechanism) why(p probed, self string, o *options, r probe.Result) probe.Why {
	if m.explain == nil {
		return probe.Why{}
	}
	return m.explain(p, self, o, r)
}

// backend is one mechanism, ready to confine one policy, or the reason why not.
type backend struct {
	mechanism
	err error // why it cannot be used; the fields below are empty then

	enforcement policy.Enforcement
	skipped     []policy.Root
	warnings    []string
	observed    bool // the launcher stays until the command ends

	native                // what only this system's mechanisms need
	profile seatbelt.Plan // Seatbelt's
}

// ready returns m, ready for the policy.
func (m mechanism) ready(in *inputs) backend {
	b := m.make(in)
	b.mechanism = m
	b.observed = m.name == "bwrap" && !in.opts.exec || m.name == "landlock" && in.opts.supervise
	if b.err == nil {
		b.enforcement.Limits = append(b.enforcement.Limits, in.limits...)
		if in.opts.watches() {
			b.enforcement.Limits = append(b.enforcement.Limits, "stderr-piped")
		}
		if in.openGit && m.name != "landlock" { // which lets nothing be made beside what is kept
			b.enforcement.Limits = append(b.enforcement.Limits, "git-commondir")
		}
	}
	return b
}

// again gets b ready anew, where the policy was resolved again.
func (b *backend) again(in *inputs) { *b = b.ready(in) }

// backendNames are the backends of this system, the strongest first.
func backendNames() []string {
	names := []string{}
	for _, m := range mechanisms {
		names = append(names, m.name)
	}
	return names
}

// backends returns the mechanisms that the caller would accept for this policy,
// in the order in which they are tried. No program is run to find out: what a
// mechanism is worth here shows when it is used, and a failure comes before the
// command.
func (in *inputs) backends() []backend {
	var list []backend
	for _, m := range in.order() {
		b := m.ready(in)
		if b.err == nil {
			b.err = in.accept(b)
		}
		list = append(list, b)
	}
	if in.opts.backend == "auto" && in.opts.prefer == "fast" && !slices.ContainsFunc(list, landlockSuffices) {
		slices.Reverse(list)
	}
	return list
}

func (in *inputs) order() []mechanism {
	if in.opts.backend == "auto" {
		list := slices.Clone(mechanisms)
		if in.opts.prefer == "fast" {
			slices.Reverse(list)
		}
		return list
	}
	for _, m := range mechanisms {
		if m.name == in.opts.backend {
			return []mechanism{m}
		}
	}
	return []mechanism{{name: in.opts.backend, make: func(*inputs) backend {
		return backend{err: withHint(errors.New("not on "+runtime.GOOS), "leave out --backend, or pass --backend "+mechanisms[0].name)}
	}}}
}

// landlockSuffices reports whether b is Landlock and refuses nothing that the
// policy allows.
func landlockSuffices(b backend) bool {
	return b.name == "landlock" && b.err == nil && len(b.enforcement.OverDenials) == 0
}

// accept applies --require, and keeps auto from a Landlock that would get in
// the command's way.
func (in *inputs) accept(b backend) error {
	if unmet := policy.Require(in.opts.require).Unmet(b.enforcement); len(unmet) > 0 {
		return fmt.Errorf("leaves %s open, and --require %s does not accept that", names(unmet), in.opts.require)
	}
	if b.name != "landlock" || in.opts.backend != "auto" || in.opts.allowOverDenial {
		return nil
	}
	for _, over := range b.enforcement.OverDenials {
		if in.matters(over.Path) {
			return withHint(fmt.Errorf("would also refuse: %v", over),
				"pass --backend landlock or --allow-over-denial to accept that, or install bubblewrap")
		}
	}
	return nil
}

// matters reports whether the command is likely to work at or below path: it is
// in the home directory, the working directory or a writable root.
func (in *inputs) matters(path string) bool {
	if path == "" {
		return false
	}
	home, _ := launch.Getenv(in.env, "HOME")
	if policy.Holds(in.cwd, path) || (home != "" && policy.Holds(canonicalOr(home), path)) {
		return true
	}
	return slices.ContainsFunc(in.resolved.Roots(), func(r policy.Root) bool {
		return r.Access() == policy.ReadWrite && policy.Holds(r.Path, path)
	})
}

func names(gaps []policy.Gap) string {
	var words []string
	for _, g := range gaps {
		words = append(words, string(g))
	}
	return strings.Join(words, ", ")
}

// kept refuses what only a launcher that stays beside the command can keep.
func (o *options) kept(hint string) error {
	if o.yielding {
		return nil
	}
	for _, f := range []struct {
		name  string
		asked bool
	}{
		{"--isolate-processes", o.isolate},
		{"--die-with-parent", o.dieWithParent},
		{"--new-session", o.newSession},
		{"--supervise", o.supervise},
		{"--audit-denials", o.auditDenials && runtime.GOOS != "linux"},
	} {
		if f.asked {
			return withHint(fmt.Errorf("it cannot keep %s, because nothing of the launcher stays beside the command", f.name), hint)
		}
	}
	return nil
}

// watches reports whether the command's standard error is read on its way.
func (o *options) watches() bool { return o.failOnDenial > 0 || o.annotate != "" || o.widenOnDenial }

// changeable warns of the launcher's inputs that the policy lets the command
// change, for a mechanism that cannot keep them.
func (in *inputs) changeable(mechanism string) (warnings []string) {
	for _, f := range in.files {
		if in.resolved.Decide(f.path).Access == policy.ReadWrite {
			warnings = append(warnings, fmt.Sprintf("%s %q can be changed by the command, and %s alone cannot prevent it", f.flag, f.given, mechanism))
		}
	}
	if os.Geteuid() == 0 && in.resolved.Default() == policy.ReadWrite {
		return warnings // the gap "deferred" says it, of every program on the host
	}
	// A user's launcher lies where that user cannot write, as a rule.
	for _, own := range ownPrograms() {
		if in.resolved.Decide(own).Access == policy.ReadWrite && hostfs.CanReplace(own) {
			// The other lies beside it.
			return append(warnings, fmt.Sprintf("the launcher %q can be changed by the command, and %s alone cannot prevent it", own, mechanism))
		}
	}
	return warnings
}
