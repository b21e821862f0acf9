//go:build (linux || darwin) && !launcher

package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/letta-confine/letta-confine/approval"
	"github.com/letta-confine/letta-confine/internal/launch"
)

// escalation is the reason of a request for a wider mode, in DSH's words.
func (in *inputs) escalation() string {
	return "escalate sandbox to " + in.opts.widen + ": " + in.opts.justification
}

// widening runs the command in the mode of --widen, once, where that is allowed.
// Whatever would keep the wider run from starting is an error before anybody is
// asked, and so is a mode that is not wider.
func (o *options) widening([]string) (int, error) {
	in, err := gather(o)
	if err != nil {
		return 0, err
	}
	if o.printPolicy {
		return 0, in.printPolicy()
	}
	wide, err := in.widened()
	if err != nil {
		return 0, err
	}
	if o.widenOnDenial {
		return in.afterDenial(wide)
	}
	rep, err := wide.begin()
	if err != nil {
		return 0, err
	}
	in.log = wide.log
	if err := in.mayWiden(wide, rep); err != nil {
		rep.failed(err)
		return 0, err
	}
	return wide.run(rep)
}

// afterDenial runs the command as it is, and asks where it is known that the sandbox
// denied it something. What it did until then it does a second time.
func (in *inputs) afterDenial(wide *inputs) (int, error) {
	rep, err := in.begin()
	if err != nil {
		return 0, err
	}
	if err := wide.checkCommand(wide.opts.args); err != nil {
		return 0, err
	}
	if err := wide.keepsSession(); err != nil {
		return 0, err
	}
	status, err := in.run(rep)
	if err != nil || in.denied != deniedSure {
		return status, err
	}
	wide.log, wide.parent = in.log, in.parent
	if err := in.mayWiden(wide, rep); err != nil {
		in.warn(err.Error())
		return status, nil // the command has run, and this is what came of it
	}
	return wide.run(rep)
}

// mayWiden asks whether the command may run as wide says; nil is a yes.
func (in *inputs) mayWiden(wide *inputs, rep *report) error {
	// In reach of the wider run an answerer could be changed for the next one.
	if _, err := wide.answerer(); err != nil {
		return err
	}
	outcome, why, err := in.ask(in.escalation())
	if err != nil {
		return err
	}
	allowed := outcome == approval.AllowedOnce && why == nil
	if rep != nil {
		rep.about = in.about
		if allowed {
			rep.about = wide.about
		}
		rep.about.Outcome, rep.about.Widened = string(outcome), allowed
	}
	if allowed {
		return nil
	}
	err = refusal("widening to "+in.opts.widen, outcome, why)
	if in.opts.answerer == "" && in.approval() == ask {
		return withHint(err, "say who answers with --answerer")
	}
	return err
}

// widened is the same run in the mode of --widen. Policies are not read a second
// time: they may have come through a descriptor.
func (in *inputs) widened() (*inputs, error) {
	o := *in.opts
	switch {
	case in.mode == "":
		return nil, withHint(fmt.Errorf("--widen %s: no mode is in force", o.widen), "pass --mode, or add writable roots")
	case slices.Index(modes, o.widen) <= slices.Index(modes, in.mode):
		return nil, fmt.Errorf("--widen %s is not strictly wider than the mode %s", o.widen, in.mode)
	}
	o.mode, o.preset, o.defaultMode = o.widen, "", ""
	w := &inputs{
		opts: &o, env: os.Environ(), cwd: in.cwd, cwdID: in.cwdID, aliasOf: make(map[string]string), parent: -1,
		given: in.given, session: in.session, files: slices.Clone(in.files),
	}
	if o.chdir != "" {
		w.env = launch.Unsetenv(w.env, "PWD")
	}
	if err := w.compose(); err != nil {
		return nil, err
	}
	w.about.ModeFrom, w.about.Approval = "--widen", in.about.Approval
	return w, w.check()
}
