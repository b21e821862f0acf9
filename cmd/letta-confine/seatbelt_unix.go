//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/seatbelt"
)

// seatbeltMechanism is macOS Seatbelt. It is here also on Linux, where only tests
// reach it, with a stand-in for sandbox-exec.
var seatbeltMechanism = mechanism{"seatbelt", (*inputs).seatbelt, (*inputs).startSeatbelt, findSeatbelt, nil}

// sandboxExec is the program that applies a profile. Only a test may set it.
var sandboxExec = seatbelt.Path

// seatbeltWord is the first argument that makes the program the stage between
// sandbox-exec and the command.
const seatbeltWord = "seatbelt-stage"

func (in *inputs) seatbelt() backend {
	fail := func(err error) backend { return backend{err: err} }
	if err := in.opts.kept("leave it out: nothing on this system can keep it"); err != nil {
		return fail(err)
	}
	self, err := launcherPath()
	if err != nil {
		return fail(err)
	}
	resolved, err := in.shared()
	if err != nil {
		return fail(err)
	}
	if d := resolved.Decide(self); d.Access == policy.None {
		return fail(withHint(fmt.Errorf("the launcher %q, which starts the command from inside, is hidden by denied root %q", self, d.Root.Path),
			"install the launcher outside the denied root, or carve it out with a readonly root"))
	}
	plan, err := seatbelt.Profile(resolved)
	if err != nil {
		return fail(err)
	}
	b := backend{
		enforcement: in.open(seatbelt.Promises(resolved, unix.Geteuid() == 0)), skipped: plan.Skipped,
		warnings: in.changeable("Seatbelt"), profile: plan,
	}
	if len(seatbelt.Above(resolved, in.cwd)) > 0 {
		b.enforcement.Limits = append(b.enforcement.Limits, "unlisted-ancestors")
	}
	return b
}

func launcherPath() (string, error) {
	self, err := ownProgram()
	if err != nil {
		return "", fmt.Errorf("the launcher's own path: %w", err)
	}
	return canonicalOr(self), nil
}

// startSeatbelt has the profile tried in a child, and then executes sandbox-exec
// in place of the launcher. Sandbox-exec executes the stage, and the stage the
// command: the process is the caller's child throughout, and nothing stays behind.
//
// The trial is what turns 65 and 71 into 125 (docs/decisions/0008): once the
// launcher is gone nobody can.
func (in *inputs) startSeatbelt(rep *report, b *backend) (int, error) {
	if _, err := in.create(nil); err != nil {
		return 0, err
	}
	made, err := in.makeFolder()
	if err != nil {
		return 0, err
	}
	if in.creates() || len(made) > 0 {
		if b.again(in); b.err != nil {
			return 0, &startError{b.err}
		}
	}
	resolved, err := in.shared()
	if err != nil {
		return 0, &startError{err}
	}
	self, err := launcherPath()
	if err != nil {
		return 0, &startError{err}
	}
	env := in.childEnv(b.name)
	s := stageOf(resolved)
	if err := seatbelt.Try(sandboxExec, b.profile, s.words(self), env); err != nil {
		return 0, &startError{seatbeltError(err)}
	}
	for _, w := range b.warnings {
		in.warn(w)
	}
	if err := rep.plan(b, made); err != nil {
		return 0, err
	}
	s.argv, s.keep = in.opts.args, in.opts.keepFDs
	open := s.keep
	if rep != nil {
		s.report = rep.fd
		open = append([]int{rep.fd}, open...)
	}
	for _, entry := range env {
		// The system drops these on the way through a program of its own.
		if strings.HasPrefix(entry, "DYLD_") || strings.HasPrefix(entry, "LD_") {
			s.env = append(s.env, entry)
		}
	}
	if err := launch.CloseOnExec(open); err != nil {
		return 0, err
	}
	if err := in.log.leaves(in.opts.args, env); err != nil {
		return 0, err
	}
	return 0, seatbelt.Exec(sandboxExec, b.profile, s.words(self), env)
}

func seatbeltError(err error) error {
	if errors.Is(err, seatbelt.ErrAbsent) {
		return withHint(err, "macOS has it; elsewhere use another backend")
	}
	return err
}

// seatbeltRun is what the stage is told, in its arguments: the profile keeps it
// from no file that a command could have written, and takes away no descriptor.
type seatbeltRun struct {
	roots  []string // denied roots that it tries to open
	report int      // the descriptor of --report, or -1
	keep   []int    // descriptors that the command inherits
	env    []string // what sandbox-exec's environment lost, or what to change in it: launch.Alter
	argv   []string // the command; empty where the profile is tried
}

// maxShown bounds how many denied roots the stage tries. The profile is one piece:
// where it denies one root it is in force.
const maxShown = 8

func stageOf(r policy.Resolved) seatbeltRun {
	s := seatbeltRun{report: -1}
	for _, l := range r.Layers() {
		isFile := l.Root.Kind == policy.Dir || l.Root.Kind == policy.File
		if l.Access == policy.None && isFile && len(s.roots) < maxShown {
			s.roots = append(s.roots, l.Root.Path)
		}
	}
	return s
}

// words returns the command line of the stage.
func (s seatbeltRun) words(self string) []string {
	words := []string{self, seatbeltWord, strconv.Itoa(s.report)}
	var keep []string
	for _, fd := range s.keep {
		keep = append(keep, strconv.Itoa(fd))
	}
	for _, list := range [][]string{s.roots, keep, s.env} {
		words = append(append(words, strconv.Itoa(len(list))), list...)
	}
	return append(words, s.argv...)
}

// readSeatbeltRun reads what words wrote, from after the word on.
func readSeatbeltRun(args []string) (s seatbeltRun, err error) {
	next := func() (n int) {
		if len(args) == 0 {
			err = errors.New("seatbelt stage: words are missing")
			return 0
		}
		n, err = strconv.Atoi(args[0])
		args = args[1:]
		return n
	}
	s.report = next()
	var lists [3][]string
	for i := range lists {
		if err != nil {
			return s, err
		}
		n := next()
		if n < 0 || n > len(args) {
			return s, errors.New("seatbelt stage: words are missing")
		}
		lists[i], args = args[:n], args[n:]
	}
	for _, word := range lists[1] {
		fd, err := strconv.Atoi(word)
		if err != nil {
			return s, err
		}
		s.keep = append(s.keep, fd)
	}
	s.roots, s.env, s.argv = lists[0], lists[2], args
	return s, err
}

// seatbeltStage is the stage: it makes sure that the profile is in force, says so
// in the report, and executes the command. It returns the exit status only where
// the command was not executed. A command that starts it again gains nothing.
func seatbeltStage(args []string) int {
	s, err := readSeatbeltRun(args)
	if err != nil {
		return fail(err)
	}
	refused, err := s.inForce()
	if len(s.argv) == 0 { // tried: the launcher is waiting
		if err != nil {
			fmt.Println(err)
			return launch.ExitFailure
		}
		return 0
	}
	var rep *report
	if s.report >= 0 {
		rep = &report{fd: s.report, stage: stageBackend}
	}
	if err == nil {
		err = s.exec(rep, refused)
	}
	rep.failed(err)
	return fail(err)
}

// exec becomes the command, with the environment that sandbox-exec was started
// with.
func (s seatbeltRun) exec(rep *report, refused int) error {
	if err := rep.write(event{Event: "started", Proof: seatbeltProof{"applied", refused}}); err != nil {
		return err
	}
	if err := launch.CloseOnExec(s.keep); err != nil {
		return err
	}
	return launch.Exec(s.argv, launch.Alter(os.Environ(), s.env))
}

// seatbeltProof is what the stage knows: sandbox-exec executes it only once the
// profile is applied, and so many denied roots said EPERM when it opened them.
type seatbeltProof struct {
	Profile string `json:"profile"`
	Refused int    `json:"refused"`
}

// inForce fails where a denied root can be opened, and counts those that were
// refused as Seatbelt refuses. Another error says nothing: the root is gone, or the
// caller has no right to it anyway.
func (s seatbeltRun) inForce() (refused int, err error) {
	for _, root := range s.roots {
		fd, err := unix.Open(root, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			unix.Close(fd)
			return 0, fmt.Errorf("the profile is not in force: denied root %q can be opened", root)
		case errors.Is(err, unix.EPERM):
			refused++
		}
	}
	return refused, nil
}

// findSeatbelt tries the smallest profile, so that its failing says nothing of a
// policy: what cannot be applied then is a sandbox inside another one.
func findSeatbelt(p *probed, _ *options) (flags []string, code string, err error) {
	self, err := launcherPath()
	if err != nil {
		return nil, "probe-failed", err
	}
	err = seatbelt.Try(sandboxExec, seatbelt.Plan{Text: "(version 1)\n(allow default)\n"}, seatbeltRun{report: -1}.words(self), os.Environ())
	if err != nil {
		return nil, seatbeltCode(err), seatbeltError(err)
	}
	p.Program = sandboxExec
	return nil, "", nil
}

func seatbeltCode(err error) string {
	switch {
	case errors.Is(err, seatbelt.ErrAbsent):
		return "seatbelt-absent"
	case errors.Is(err, seatbelt.ErrApply):
		return "seatbelt-nested"
	case errors.Is(err, seatbelt.ErrProfile):
		return "seatbelt-profile"
	}
	return "seatbelt-failed"
}
