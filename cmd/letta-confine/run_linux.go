package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/internal/supervise"
	"github.com/letta-confine/letta-confine/landlock"
)

// ownStage runs a stage that only this system has.
func ownStage(args []string) (status int, ok bool) {
	if len(args) > 0 && args[0] == inner.Word {
		return inner.Main(args[1:]), true
	}
	return 0, false
}

// watched returns a descriptor of the calling process, whose end ends the
// command with --die-with-parent and --isolate-processes, or -1. It is the process
// that counts: the thread of it that started the launcher may end at any time.
func watched(o *options) (int, error) {
	if !o.dieWithParent && !o.isolate {
		return -1, nil
	}
	if o.exec {
		return -1, usageError("--exec leaves nobody to watch the calling process, which --die-with-parent and --isolate-processes need")
	}
	parent := unix.Getppid()
	fd, err := unix.PidfdOpen(parent, 0)
	if err != nil {
		return -1, fmt.Errorf("--die-with-parent: the calling process: %w", err)
	}
	if unix.Getppid() != parent {
		return -1, errors.New("--die-with-parent: the calling process is gone")
	}
	return fd, nil
}

// start runs the command in b. An error that is a startError left the command
// unstarted and the launcher as it was.
func (in *inputs) start(rep *report, b *backend) (int, error) {
	paths, err := in.create(b.plan.Create)
	if b.name == "landlock" {
		if err != nil {
			return 0, err
		}
		if err := in.refresh(b); err != nil {
			return 0, &startError{err}
		}
		return 0, in.startLandlock(rep, b)
	}
	var made made
	made.note(paths)
	namespace := ""
	defer func() { made.release(namespace) }()
	if err != nil {
		return 0, err
	}
	if err := in.refresh(b); err != nil {
		return 0, &startError{err}
	}
	if err := made.lock(b.plan.Checks); err != nil {
		return 0, err
	}
	if len(b.plan.Create) > 0 {
		return 0, fmt.Errorf("%s %q is not there, and was removed again", b.plan.Create[0].List, b.plan.Create[0].Given)
	}
	for _, w := range b.warnings {
		in.warn(w)
	}
	if err := rep.plan(b, paths); err != nil {
		return 0, err
	}
	sandbox := supervise.Sandbox{
		Bwrap:   b.helper.Path,
		Args:    b.plan.Args,
		Private: b.plan.Private,
		Parent:  in.parent, NewSession: in.opts.newSession,
		Inner: inner.Plan{
			Argv: in.opts.args, Env: in.childEnv(b.name),
			Dir: in.cwd, DirID: in.cwdID, Checks: b.plan.Checks, Keep: in.opts.keepFDs, Layer: b.ruleset, Again: in.again,
			Isolated: in.opts.isolate, NoUserNS: b.filter.NoUserNS, NewSession: in.opts.newSession, Report: -1,
		},
		Started: func(p inner.Proof) error {
			namespace = p.MountNamespace
			return rep.started(p.MountNamespace)
		},
	}
	if in.opts.exec {
		return 0, in.execBwrap(rep, sandbox)
	}
	status, err := supervise.Run(sandbox)
	if failed, ok := errors.AsType[*supervise.StartError](err); ok {
		return status, &startError{failed}
	}
	stay := made.release(namespace)
	if err == nil {
		rep.exit(status, stay)
	}
	return status, err
}

// execBwrap replaces the launcher by bubblewrap; the stage inside writes what a
// supervisor would.
func (in *inputs) execBwrap(rep *report, s supervise.Sandbox) error {
	if rep != nil {
		line, err := event{Event: "started", Proof: &proofJSON{inner.Namespace, true}}.line()
		if err != nil {
			return err
		}
		s.Inner.Report, s.Inner.Started = rep.fd, string(line)
	}
	return supervise.Exec(s)
}

// refresh makes the plan again where the policy was resolved again.
func (in *inputs) refresh(b *backend) error {
	if !in.creates() && len(b.plan.Create) == 0 {
		return nil
	}
	b.again(in)
	return b.err
}

// startLandlock restricts this thread and executes the command on it. Once the
// domain stands there is no way back, so from there on every error is the last.
func (in *inputs) startLandlock(rep *report, b *backend) error {
	if b.ruleset.ABI == 0 {
		return &startError{landlock.ErrABI}
	}
	for _, w := range b.warnings {
		in.warn(w)
	}
	if err := rep.plan(b, nil); err != nil {
		return err
	}
	if err := b.ruleset.Restrict(); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := harden.Apply(harden.Options{}); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := rep.started(""); err != nil {
		return err
	}
	if err := launch.CloseOnExec(in.opts.keepFDs); err != nil {
		return err
	}
	return launch.Exec(in.opts.args, in.childEnv(b.name))
}
