package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

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
	if o.exec && o.supervise {
		return -1, usageError("--exec leaves nobody to watch the command, which --supervise, --fail-on-denial and --annotate need")
	}
	if !o.dieWithParent && !o.isolate {
		return -1, nil
	}
	if o.exec {
		return -1, usageError("--exec leaves nobody to watch the calling process, which --die-with-parent and --isolate-processes need")
	}
	parent := unix.Getppid()
	// Whoever started this process shares its session, unless it leads one. A
	// parent of another session has adopted it: its own has ended.
	own, _ := unix.Getsid(0)
	theirs, _ := unix.Getsid(parent)
	if own != unix.Getpid() && own != theirs {
		return -1, errors.New("--die-with-parent: the calling process is gone")
	}
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
	if b.name == "landlock" {
		if _, err := in.create(nil); err != nil {
			return 0, err
		}
		made, err := in.makeFolder()
		if err != nil {
			return 0, err
		}
		if err := in.refresh(b); err != nil {
			return 0, &startError{err}
		}
		if in.opts.supervise {
			return in.superviseLandlock(rep, b, made)
		}
		return 0, in.startLandlock(rep, b, made)
	}
	// The report has what will be made before it is: whatever kills the launcher
	// in between, no directory is there that it does not name.
	if err := rep.plan(b, toMake(b.plan.Create)); err != nil {
		return 0, err
	}
	var made made
	namespace := ""
	defer func() { made.release(namespace) }()
	if err := in.prepare(b, &made); err != nil {
		return 0, err
	}
	for _, w := range b.warnings {
		in.warn(w)
	}
	sandbox := in.sandbox(b, rep)
	sandbox.Bwrap, sandbox.Args, sandbox.Private = b.helper.Path, b.plan.Args, b.plan.Private
	sandbox.Inner.Checks, sandbox.Inner.Again = b.plan.Checks, in.again
	sandbox.Inner.Isolated, sandbox.Inner.NoUserNS = in.opts.isolate, b.filter.NoUserNS
	sandbox.Started = func(p inner.Proof) error {
		namespace = p.MountNamespace
		made.hold(p)
		return rep.started(proof(p.MountNamespace, sandbox.Inner.Trial, p.Refused))
	}
	if in.opts.exec {
		if err := in.log.leaves(nil, nil); err != nil {
			return 0, err
		}
		return 0, in.execBwrap(rep, sandbox)
	}
	return in.supervise(rep, b, sandbox, func() []string { return made.release(namespace) })
}

// sandbox is what both backends have in common where the launcher stays.
func (in *inputs) sandbox(b *backend, rep *report) supervise.Sandbox {
	return supervise.Sandbox{
		Parent: in.parent, NewSession: in.opts.newSession,
		Inner: inner.Plan{
			Argv: in.opts.args, Env: in.childEnv(b.name), Dir: in.cwd, DirID: in.cwdID, Keep: in.opts.keepFDs,
			Layer: b.ruleset, NewSession: in.opts.newSession, Report: -1, Trial: in.trial(b, rep),
		},
	}
}

// supervise runs the sandbox to its end; release gives up what was made for it.
func (in *inputs) supervise(rep *report, b *backend, s supervise.Sandbox, release func() (stay []string)) (int, error) {
	if in.opts.watches() {
		s.Said = &supervise.Said{}
		// It is a pipe now, of which there is nothing to open again.
		s.Inner.Again = slices.DeleteFunc(slices.Clone(s.Inner.Again), func(r inner.Reopen) bool { return r.FD == 2 })
	}
	listener := in.listen(&s)
	status, err := supervise.Run(s)
	if failed, ok := errors.AsType[*supervise.StartError](err); ok {
		return status, &startError{failed}
	}
	stay := release()
	if err != nil {
		return status, err
	}
	k := in.denials(b, status, s.Said, listener)
	in.verdict = k.verdict
	rep.exit(status, stay, k)
	return in.judge(status, k.list, s.Said), nil
}

// superviseLandlock runs the command in a domain of its own, beside the launcher.
func (in *inputs) superviseLandlock(rep *report, b *backend, made []string) (int, error) {
	for _, w := range b.warnings {
		in.warn(w)
	}
	if err := rep.plan(b, made); err != nil {
		return 0, err
	}
	s := in.sandbox(b, rep)
	s.Inner.Bare = true
	s.Started = func(p inner.Proof) error { return rep.started(proof("", s.Inner.Trial, p.Refused)) }
	return in.supervise(rep, b, s, func() []string { return made })
}

// prepare makes the mount points that the plan needs and takes the locks. When
// another run is about to remove one, or has just removed one that was there a
// moment ago, it begins anew.
func (in *inputs) prepare(b *backend, made *made) error {
	for try := 0; ; try++ {
		paths, err := in.create(b.plan.Create)
		made.note(append(made.paths, paths...))
		if err == nil {
			if err := in.refresh(b); err != nil {
				return &startError{err}
			}
			err = made.lock(b.plan.Checks)
		}
		if err == nil && len(b.plan.Create) == 0 {
			return nil
		}
		again := err == nil || errors.Is(err, errRemoved) || errors.Is(err, errLocked) || errors.Is(err, unix.ENOENT)
		if !again || try == prepareTries {
			if err == nil {
				err = fmt.Errorf("%s is not there, and was removed again", in.called(b.plan.Create[0]))
			}
			return err
		}
		made.unlock()
		time.Sleep(time.Duration(1+try) * time.Millisecond)
		if err := in.resolve(); err != nil {
			return err
		}
		b.again(in)
		if b.err != nil {
			return &startError{b.err}
		}
	}
}

// prepareTries is how often prepare begins anew, a millisecond later than the time
// before: some five seconds. A run that ends removes what it made once, but on a
// busy host the scheduler, the disk or the end of a mount can stop it half way.
const prepareTries = 100

// execBwrap replaces the launcher by bubblewrap; the stage inside writes what a
// supervisor would.
func (in *inputs) execBwrap(rep *report, s supervise.Sandbox) error {
	if rep != nil {
		line, err := event{Event: "started", Proof: proof(inner.Namespace, s.Inner.Trial, inner.Refused)}.line()
		if err != nil {
			return err
		}
		s.Inner.Report, s.Inner.Started = rep.fd, string(line)
	}
	return supervise.Exec(s)
}

// refresh makes the plan again where the policy was resolved again.
func (in *inputs) refresh(b *backend) error {
	if !in.creates() && len(b.plan.Create) == 0 && (b.name == "bwrap" || len(in.private) == 0) {
		return nil
	}
	b.again(in)
	return b.err
}

// startLandlock restricts this thread and executes the command on it. Once the
// domain stands there is no way back, so from there on every error is the last.
func (in *inputs) startLandlock(rep *report, b *backend, made []string) error {
	if b.ruleset.ABI == 0 {
		return &startError{landlock.ErrABI}
	}
	for _, w := range b.warnings {
		in.warn(w)
	}
	if err := rep.plan(b, made); err != nil {
		return err
	}
	trial := in.trial(b, rep)
	if err := b.ruleset.Restrict(1, 2); errors.Is(err, landlock.ErrAbove) {
		return withHint(fmt.Errorf("landlock: %w", err), "start outside this chroot, or unmount there what holds the chroot itself")
	} else if errors.Is(err, landlock.ErrLayers) {
		return withHint(fmt.Errorf("landlock: %w", err), "start fewer launchers inside one another")
	} else if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	refused, err := trial.Try()
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := harden.Apply(harden.Options{}); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || nnp != 1 {
		return fmt.Errorf("landlock: no_new_privs is not set (%v)", err)
	}
	if err := rep.started(proof("", trial, refused)); err != nil {
		return err
	}
	if err := launch.CloseOnExec(in.opts.keepFDs); err != nil {
		return err
	}
	env := in.childEnv(b.name)
	if err := in.log.leaves(in.opts.args, env); err != nil {
		return err
	}
	return launch.Exec(in.opts.args, env)
}
