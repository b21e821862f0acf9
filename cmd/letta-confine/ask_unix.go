//go:build (linux || darwin) && !launcher

package main

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/approval"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/sessionlog"
)

// answererPath is where an answerer finds programs; the caller's own PATH may name
// places that a confined command has written to.
const answererPath = "PATH=/usr/local/bin:/usr/bin:/bin"

// answerer returns who is asked, or nil where nobody is named. It is a file of the
// launcher's own: one that the command could change would answer for it.
func (in *inputs) answerer() (approval.Answerer, error) {
	given, limit := in.opts.answerer, in.opts.answerTimeout
	fd, shared, err := in.handed(given)
	switch {
	case given == "":
		return nil, nil
	case given == tty:
		return approval.Terminal(in.opts.args, limit), nil
	case shared:
		if err == nil {
			err = socket(fd) // a file would take the question for its text
		}
		if err != nil {
			return nil, fmt.Errorf("--answerer %q: %w", given, err)
		}
		return approval.Descriptor(fd, limit), nil
	}
	if err := in.checkAnswerer(given); err != nil {
		return nil, err
	}
	env := []string{answererPath}
	for _, name := range []string{"HOME", "LANG"} {
		if value, ok := launch.Getenv(in.env, name); ok {
			env = append(env, name+"="+value)
		}
	}
	return approval.Program(given, env, limit), nil
}

func (in *inputs) checkAnswerer(file string) error {
	fd, err := hostfs.OpenPlain(file, unix.O_RDONLY, 0)
	if err == unix.ELOOP {
		return withHint(fmt.Errorf("--answerer %q: there is a symlink in its path", file), "write the real path")
	}
	if err == nil {
		_, err = regular(fd)
		unix.Close(fd)
	}
	if err == nil {
		err = unix.Access(file, unix.X_OK)
	}
	if err != nil {
		return fmt.Errorf("--answerer %q: %w", file, err)
	}
	// An interpreter may be a script itself, up to a depth that is the kernel's.
	for name, deep := file, 0; name != "" && deep < 8; name, deep = launch.Interpreter(name), deep+1 {
		links := &linkReader{}
		path, err := policy.Canonical(absolute(name), links)
		if err != nil {
			return fmt.Errorf("--answerer %q: %q: %w", file, name, bare(err))
		}
		if slices.ContainsFunc(append(links.read, path), in.canChange) {
			return withHint(fmt.Errorf("--answerer %q can be changed by the command", name), "keep it outside what the policy makes writable")
		}
	}
	return nil
}

// linkReader remembers the links that lead to a file, each by its canonical path.
type linkReader struct {
	hostfs.FS
	read []string
}

func (l *linkReader) Readlink(name string) (string, error) {
	l.read = append(l.read, name)
	return l.FS.Readlink(name)
}

// ask asks for what reason says, and keeps the question and its outcome in the
// session log. An error means that nothing was asked, or that it could not be kept.
// why says more about an outcome.
func (in *inputs) ask(reason string) (outcome approval.Outcome, why, err error) {
	answerer, err := in.answerer()
	if err != nil {
		return "", nil, err
	}
	o := in.opts
	name := o.tool
	if name == "" {
		name = path.Base(o.args[0])
	}
	r, err := approval.New(approval.Request{ToolName: name, CallID: o.callID, Mode: o.widen, Reason: reason}, o.args)
	if err != nil {
		return "", nil, err
	}
	if in.kept != nil {
		if err := in.kept.Asked(sessionlog.Event{ID: r.ID, ToolName: r.ToolName, CallID: r.CallID, Reason: r.Reason}); err != nil {
			return "", nil, in.sessionError(err)
		}
	}
	outcome, why = approval.Decide(approval.Policy(in.approval()), r, answerer)
	if in.kept != nil {
		if err := in.kept.Decided(string(outcome)); err != nil {
			return "", nil, in.sessionError(err)
		}
	}
	return outcome, why, nil
}

// refusal is the error of a run that was not allowed.
func refusal(what string, outcome approval.Outcome, why error) error {
	text := what
	switch outcome {
	case approval.Rejected:
		text += " was rejected"
	case approval.Cancelled:
		text += " was cancelled"
	default:
		text += " needs an approval, and there is no answer"
	}
	if why != nil {
		return fmt.Errorf("%s: %w", text, why)
	}
	return errors.New(text)
}

func socket(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return errors.New("not a socket")
	}
	return nil
}
