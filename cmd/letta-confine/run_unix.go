//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/probe"
)

// stage runs one of the stages of the program that it starts itself.
func stage(args []string) (status int, ok bool) {
	if len(args) != 3 || args[0] != probe.Word {
		return ownStage(args)
	}
	outside, err := strconv.Atoi(args[2])
	if err != nil || probe.Stage(args[1], outside) != nil {
		return launch.ExitFailure, true
	}
	return 0, true
}

// refuseSetID ends a launcher that has more rights than its caller: what it
// reads and opens for the caller would be opened with the rights of its owner.
func refuseSetID() error {
	if unix.Getuid() == unix.Geteuid() && unix.Getgid() == unix.Getegid() && !raised() {
		return nil
	}
	return withHint(errors.New("started set-user-id, set-group-id or with file capabilities"),
		"remove these from the launcher's file: it needs no privilege")
}

// confine is the launcher itself.
func confine(args []string) (int, error) {
	o, err := parseRun(args)
	if err != nil {
		return 0, err
	}
	if o.widen != "" {
		return o.widening(args)
	}
	return o.confine()
}

// confine is the launcher once it has read its command line.
func (o *options) confine() (status int, err error) {
	began := time.Now()
	in, err := gather(o)
	if o.printPolicy && err == nil {
		return 0, in.printPolicy()
	}
	var rep *report
	if err == nil {
		rep, err = in.begin(began)
	}
	if err == nil {
		status, err = in.run(rep)
	}
	if err != nil && !o.printPolicy {
		if in == nil {
			in = &inputs{opts: o, unresolved: true}
		}
		in.refused(began, err)
	}
	return status, err
}

// begin checks what only a run needs. What it opens to write is opened when no
// descriptor is left that could pass for one to keep.
func (in *inputs) begin(began time.Time) (rep *report, err error) {
	o := in.opts
	if err := in.checkCommand(o.args); err != nil {
		return nil, err
	}
	if in.parent, err = watched(o); err != nil {
		return nil, err
	}
	in.noteRights()
	err = launch.Inherited(o.keepFDs)
	if err == nil {
		err = launch.CloseOnExec(o.keepFDs)
	}
	if err != nil {
		return nil, withHint(fmt.Errorf("--keep-fd: %w", err), "keep descriptors that are open")
	}
	if err := in.keepSession(); err != nil {
		return nil, err
	}
	if err := in.openAudit(began); err != nil {
		return nil, err
	}
	return in.openReport()
}

// run runs the command, and says what kept it from starting, or how it ended.
func (in *inputs) run(rep *report) (status int, err error) {
	if status, err = in.confine(rep); err != nil {
		rep.failed(err)
		return status, err
	}
	if in.verdict == "" {
		return status, nil
	}
	if err := in.log.ended(status, in.verdict); err != nil {
		warn(err.Error()) // the command has run: its status is the answer
	}
	return status, nil
}

// confine picks a backend, or none where there is nothing to confine.
func (in *inputs) confine(rep *report) (status int, err error) {
	if in.again, err = in.checkStdio(); err != nil {
		return 0, err
	}
	for _, note := range in.notes {
		in.warn(note)
	}
	if !in.resolved.Restricts() {
		reason, warning := in.unrestricted()
		return in.unconfined(rep, reason, warning+", and the command runs unconfined")
	}
	if in.reason != "" {
		in.warn(in.warning + ", and only the rest of the policy is in force")
	}
	if in.alreadyConfined() {
		return in.unwrapped(rep)
	}
	return in.try(rep, in.backends())
}

// unrestricted says why there is nothing to confine.
func (in *inputs) unrestricted() (reason, warning string) {
	if in.reason != "" {
		return in.reason, in.warning
	}
	return "nothing-to-restrict", "the policy restricts nothing"
}

// sentinel is the variable by which letta-code tells itself that it is confined,
// and stops guarding. Only a run under one of its profiles, which deny both of its
// trees, sets it; what another run inherits does not go on.
const sentinel = "LETTA_SANDBOX"

// marker names the backend to the command. It is a note, not a proof.
const marker = "LETTA_CONFINE"

// childEnv is the environment of a command that the backend confines.
func (in *inputs) childEnv(backend string) []string {
	env := in.temp(launch.Setenv(in.env, marker, backend), backend)
	if in.guards() {
		env = launch.Setenv(env, sentinel, backend)
	}
	return env
}

// try starts the command in the first backend that works.
func (in *inputs) try(rep *report, list []backend) (int, error) {
	for i := range list {
		b := &list[i]
		if b.err != nil {
			rep.passOver(b)
			continue
		}
		rep.reaches(stageBackend)
		in.log.on(b.name, b.enforcement.Level(), "")
		status, err := b.start(in, rep, b)
		failed, early := errors.AsType[*startError](err)
		if !early {
			return status, err
		}
		if status != 0 {
			rep.interrupted(status)
			in.log.failed(errInterrupted, status)
			return status, nil
		}
		b.err = failed.error
		rep.passOver(b)
	}
	err := unavailable(list)
	if in.opts.onUnavailable == "run" {
		return in.unconfined(rep, "backend-unavailable", err.Error()+"; the command runs unconfined")
	}
	return 0, err
}

// startError says that a backend failed before the command ran, so that
// another one may be tried.
type startError struct{ error }

func (e *startError) Unwrap() error { return e.error }

// probeHint is the cure where no backend knows one. Probe itself does not repeat it.
const probeHint = "run letta-confine probe to see what this host can do"

// reason is why b cannot be used.
func (b *backend) reason() string { return strings.TrimPrefix(b.err.Error(), "bubblewrap: ") }

// unavailable puts the reason of every backend in one line.
func unavailable(list []backend) error {
	var reasons []string
	hint := ""
	for _, b := range list {
		reasons = append(reasons, b.name+": "+b.reason())
		if hint == "" {
			hint = hintOf(b.err)
		}
	}
	if hint == "" {
		hint = probeHint
	}
	return withHint(errors.New("no backend can confine this command: "+strings.Join(reasons, "; ")), hint)
}

func (in *inputs) warn(text string) {
	if !in.opts.quiet {
		warn(text)
	}
}

// unconfined executes the command as it is, after saying so.
func (in *inputs) unconfined(rep *report, reason, warning string) (int, error) {
	in.warn(warning)
	if err := in.make(); err != nil {
		return 0, err
	}
	if err := rep.unconfined(reason); err != nil {
		return 0, err
	}
	if err := launch.CloseOnExec(in.opts.keepFDs); err != nil {
		return 0, err
	}
	in.log.on("", "none", reason)
	env := launch.Unsetenv(in.env, marker)
	if err := in.log.leaves(in.opts.args, env); err != nil {
		return 0, err
	}
	return 0, launch.Exec(in.opts.args, env)
}
