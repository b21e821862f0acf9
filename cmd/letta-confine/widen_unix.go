//go:build (linux || darwin) && !launcher

package main

import (
	"fmt"
	"os"
	"slices"
	"time"

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
func (o *options) widening([]string) (status int, err error) {
	began := time.Now()
	in, err := gather(o)
	if err != nil {
		(&inputs{opts: o, unresolved: true}).refused(began, err)
		return 0, err
	}
	if o.printPolicy {
		return 0, in.printPolicy()
	}
	wide, err := in.widened()
	// The answerer is looked at before the narrow run has its descriptors, and before
	// a file that the launcher opens has the number of one that is not there.
	if err == nil {
		_, err = in.answerer()
	}
	if err == nil {
		_, err = wide.answerer()
	}
	if err == nil && o.widenOnDenial {
		return in.afterDenial(wide, began)
	}
	var rep *report
	if err == nil {
		rep, err = wide.begin(began)
	}
	if err == nil {
		in.kept, in.log = wide.kept, wide.log
		if err = in.mayWiden(wide, rep); err != nil {
			rep.failed(err)
		}
	}
	if err == nil {
		status, err = wide.run(rep)
	}
	if err != nil {
		in.refused(began, err)
	}
	return status, err
}

// afterDenial runs the command as it is, and asks where it is known that the sandbox
// denied it something. What it did until then it does a second time.
func (in *inputs) afterDenial(wide *inputs, began time.Time) (status int, err error) {
	o := in.opts
	rep, err := in.begin(began)
	if err == nil {
		err = wide.checkCommand(wide.opts.args)
	}
	for _, file := range [][2]string{{sessionFlag, o.sessionLog}, {"--report", o.report}, {"--audit-log", o.auditLog}} {
		if err == nil {
			err = wide.outOfReach(file[0], file[1])
		}
	}
	if err == nil {
		status, err = in.run(rep)
	}
	switch {
	case err != nil:
		in.refused(began, err)
		return status, err
	case in.verdict != denied:
		return status, nil
	}
	if err := in.mayWiden(wide, rep); err != nil {
		in.warn(err.Error())
		return status, nil // the command has run, and this is what came of it
	}
	return wide.second(in, rep)
}

// second runs the command a second time, with what the first run has open.
func (in *inputs) second(first *inputs, rep *report) (status int, err error) {
	began := time.Now()
	in.kept, in.parent = first.kept, first.parent
	if err = in.openAudit(began); err == nil {
		status, err = in.run(rep)
	}
	if err != nil {
		in.refused(began, err)
	}
	return status, err
}

// mayWiden asks whether the command may run as wide says; nil is a yes.
func (in *inputs) mayWiden(wide *inputs, rep *report) error {
	// In reach of the wider run an answerer could be changed for the next one. What
	// leads to it may have changed since.
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
	o.mode, o.preset, o.defaultMode, o.widenOnDenial = o.widen, "", "", false
	w := &inputs{
		opts: &o, env: os.Environ(), cwd: in.cwd, cwdID: in.cwdID, came: in.came, aliasOf: make(map[string]string), parent: -1,
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
