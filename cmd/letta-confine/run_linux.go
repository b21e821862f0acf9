package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/internal/supervise"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/probe"
)

// stage runs one of the stages of the program that it starts itself.
func stage(args []string) (status int, ok bool) {
	switch {
	case len(args) > 0 && args[0] == inner.Word:
		return inner.Main(args[1:]), true
	case len(args) == 3 && args[0] == probe.Word:
		outside, err := strconv.Atoi(args[2])
		if err != nil || probe.Stage(args[1], outside) != nil {
			return launch.ExitFailure, true
		}
		return 0, true
	}
	return 0, false
}

// refuseSetID ends a launcher that has more rights than its caller: what it
// reads and opens for the caller would be opened with the rights of its owner.
func refuseSetID() error {
	secure := unix.Getuid() != unix.Geteuid() || unix.Getgid() != unix.Getegid()
	if auxv, err := unix.Auxv(); err == nil {
		for _, entry := range auxv {
			if entry[0] == atSecure && entry[1] != 0 {
				secure = true
			}
		}
	}
	if !secure {
		return nil
	}
	return withHint(errors.New("started set-user-id, set-group-id or with file capabilities"),
		"remove these from the launcher's file: it needs no privilege")
}

// atSecure is AT_SECURE of getauxval(3): the kernel gave the program rights that
// its caller lacks.
const atSecure = 23

// confine is the launcher itself.
func confine(args []string) (int, error) {
	o, err := parseCommand(args)
	if err != nil {
		return 0, err
	}
	in, err := gather(o)
	if err != nil {
		return 0, err
	}
	if err := in.checkCommand(o.args); err != nil {
		return 0, err
	}
	if in.parent, err = watched(o); err != nil {
		return 0, err
	}
	if err := launch.CloseOnExec(o.keepFDs); err != nil {
		return 0, withHint(fmt.Errorf("--keep-fd: %w", err), "keep descriptors that are open")
	}
	rep, err := in.openReport()
	if err != nil {
		return 0, err
	}
	in.env = launch.Unsetenv(in.env, sentinel)
	if in.again, err = in.checkStdio(); err != nil {
		return 0, err
	}
	if !in.resolved.Restricts() {
		return in.unconfined(rep, "nothing-to-restrict", "the policy restricts nothing, and the command runs unconfined")
	}
	return in.try(rep, in.backends())
}

// watched returns a descriptor of the calling process, whose end ends the
// command with --die-with-parent and --isolate-processes, or -1. It is the process
// that counts: the thread of it that started the launcher may end at any time.
func watched(o *options) (int, error) {
	if !o.dieWithParent && !o.isolate {
		return -1, nil
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

// sentinel is the variable by which one harness tells itself that it is
// confined. Only a run that denies both of its trees may set it; this one cannot
// know that, so what it inherits does not go on.
const sentinel = "LETTA_SANDBOX"

// marker names the backend to the command. It is a note, not a proof.
const marker = "LETTA_CONFINE"

// try starts the command in the first backend that works.
func (in *inputs) try(rep *report, list []backend) (int, error) {
	for i := range list {
		b := &list[i]
		if b.err != nil {
			continue
		}
		status, err := in.start(rep, b)
		failed, early := errors.AsType[*startError](err)
		if !early {
			return status, err
		}
		if status != 0 {
			return status, nil // a signal ended the launcher before the command ran
		}
		b.err = failed.error
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

// unavailable puts the reason of every backend in one line.
func unavailable(list []backend) error {
	var reasons []string
	hint := ""
	for _, b := range list {
		reasons = append(reasons, b.name+": "+strings.TrimPrefix(b.err.Error(), "bubblewrap: "))
		if hint == "" {
			hint = hintOf(b.err)
		}
	}
	if hint == "" {
		hint = "run letta-confine probe to see what this host can do"
	}
	return withHint(errors.New("no backend can confine this command: "+strings.Join(reasons, "; ")), hint)
}

func (in *inputs) warn(text string) {
	if !in.opts.quiet {
		say("warning", text)
	}
}

// unconfined executes the command as it is, after saying so.
func (in *inputs) unconfined(rep *report, reason, warning string) (int, error) {
	in.warn(warning)
	if err := rep.unconfined(reason); err != nil {
		return 0, err
	}
	if err := launch.CloseOnExec(in.opts.keepFDs); err != nil {
		return 0, err
	}
	return 0, launch.Exec(in.opts.args, launch.Unsetenv(in.env, marker))
}

// start runs the command in b. An error that is a startError left the command
// unstarted and the launcher as it was.
func (in *inputs) start(rep *report, b *backend) (int, error) {
	paths, err := in.create(b.plan.Create)
	if b.name == "landlock" {
		if err == nil {
			err = in.refresh(b)
		}
		if err != nil {
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
	status, err := supervise.Run(supervise.Sandbox{
		Bwrap:   b.helper.Path,
		Args:    b.plan.Args,
		Private: b.plan.Private,
		Parent:  in.parent, NewSession: in.opts.newSession,
		Inner: inner.Plan{
			Argv: in.opts.args, Env: launch.Setenv(in.env, marker, b.name),
			Dir: in.cwd, DirID: in.cwdID, Checks: b.plan.Checks, Keep: in.opts.keepFDs, Layer: b.ruleset, Again: in.again,
			Isolated: in.opts.isolate, NoUserNS: b.ruleset.ABI == 0, NewSession: in.opts.newSession,
		},
		Started: func(p inner.Proof) error {
			namespace = p.MountNamespace
			return rep.started(p.MountNamespace)
		},
	})
	if failed, ok := errors.AsType[*supervise.StartError](err); ok {
		return status, &startError{failed}
	}
	if err != nil {
		status = exitStatus(err)
	}
	rep.exit(status, err, made.release(namespace))
	return status, err
}

// refresh makes the plan again where the policy was resolved again.
func (in *inputs) refresh(b *backend) error {
	if in.cacheDir == "" && !in.opts.createWritable && len(b.plan.Create) == 0 {
		return nil
	}
	fresh := in.bubblewrap
	if b.name == "landlock" {
		fresh = in.landlock
	}
	name := b.name
	*b = fresh()
	b.name = name
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
	return launch.Exec(in.opts.args, launch.Setenv(in.env, marker, b.name))
}
