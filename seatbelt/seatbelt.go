// Package seatbelt confines a command with macOS Seatbelt: it translates a
// policy into a profile (SBPL) and starts the command under /usr/bin/sandbox-exec.
//
// [Profile] does the translation. It needs no Mac and touches no file system;
// paths travel beside the text as parameters, never in it, so no name can change
// what the text says. [Exec] replaces the process; [Try] shows beforehand whether
// that would work.
//
// # Limits
//
// No Mac has run any of this. The profile rests on what others have published
// about Seatbelt; the tests judge it with an evaluator written from the same
// reports, under both readings of the precedence of operations, and compare the
// text with goldens. That shows that the profile says what is meant if the
// reports are true, and nothing more.
//
// A hard link or a clone made before the run is read under its other name.
// Whether a name exists below a denied root can be found out where Seatbelt does
// not ask (file-test-existence, searchfs). A missing directory between a
// writable one and a missing denied root can be created, also as a link: the
// next run refuses such a link, but other programs follow it. A missing denied
// root whose name is not ASCII is denied in the spelling given, not in every
// Unicode normalization of it. Programs outside the sandbox that act on request
// (launch services, Apple events, launchd) are reached unless
// [Plan.DenyHelpers] is used.
//
// Refused beyond the policy: setuid programs, a sandbox inside this one, mounting
// anything (disk images too), disk devices, moving a root or a directory above
// one, so also replacing a file root by renaming another file onto it. macOS drops
// the DYLD_ variables on the way through sandbox-exec.
package seatbelt

import (
	"errors"
	"fmt"

	"github.com/letta-confine/letta-confine/policy"
)

// Path is the one place that sandbox-exec is started from. A PATH search would
// let a directory that the last run could write choose the program.
const Path = "/usr/bin/sandbox-exec"

// Param is one parameter of a profile, given to sandbox-exec as -DName=Value.
type Param struct{ Name, Value string }

// Plan is a profile, ready to be applied.
type Plan struct {
	Text   string  // the profile; it depends on the shape of the policy, never on the bytes of a path
	Params []Param // what the text's (param "R0") stand for, in the order of their first use

	// Skipped lists the missing base and writable roots. The profile does not
	// make them writable: what the command puts at such a path, a link above
	// all, would be the writable root of the next run.
	Skipped []policy.Root
}

// Argv returns the arguments that run argv under the plan, from sandbox-exec's
// own name on. The command should be an absolute path: sandbox-exec searches PATH
// for a name without a slash. Order and form are those of sandbox-exec(1); the
// "--" is not in its manual but is getopt(3)'s, and Codex and letta-code pass it.
func (p Plan) Argv(argv []string) []string {
	args := make([]string, 0, len(p.Params)+len(argv)+4)
	args = append(args, Path, "-p", p.Text)
	for _, param := range p.Params {
		args = append(args, "-D"+param.Name+"="+param.Value)
	}
	return append(append(args, "--"), argv...)
}

// DenyHelpers returns the plan with launch services, Apple events and the
// creation of launchd jobs refused, each of which has a program outside the
// sandbox act for the command. Without it they are a gap named "helpers".
func (p Plan) DenyHelpers() Plan {
	p.Text += "(deny lsopen)\n(deny appleevent-send)\n(deny job-creation)\n"
	return p
}

// The reasons for which sandbox-exec ends without having run the command, or is
// not started.
var (
	ErrAbsent  = errors.New("this system has no sandbox-exec")
	ErrProfile = errors.New("sandbox-exec refused the profile")
	ErrApply   = errors.New("sandbox-exec could not apply the profile or start the command")
)

// StatusError is an exit status of sandbox-exec itself.
type StatusError struct {
	Status int
	Err    error  // ErrProfile or ErrApply
	Said   string // what sandbox-exec said of it; may be empty
	Fix    string // what to change; may be empty
}

func (e *StatusError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("%v (exit status %d)", e.Err, e.Status)
	}
	return fmt.Sprintf("%v (exit status %d: %s)", e.Err, e.Status, e.Said)
}

func (e *StatusError) Unwrap() error { return e.Err }

// Hint returns what to change, or "".
func (e *StatusError) Hint() string { return e.Fix }

// Status says whether an exit status is sandbox-exec's own. The answer is a
// [*StatusError] for 65 (EX_DATAERR) and 71 (EX_OSERR), and nil for every other
// status and whenever the command is known to have started: commands end with 65
// and 71 too, and theirs must reach the caller as they are.
func Status(status int, started bool) error {
	switch {
	case started:
		return nil
	case status == 65:
		return &StatusError{Status: status, Err: ErrProfile, Fix: "this macOS does not know a form of the profile; report it with the output of letta-confine plan"}
	case status == 71:
		return &StatusError{Status: status, Err: ErrApply, Fix: "a sandbox cannot be entered from inside another one; start from an unconfined process"}
	}
	return nil
}

// SizeError says that a profile is too large to be started.
type SizeError struct {
	Bytes, Limit     int
	Roots, Ancestors int // how many paths the profile names for themselves, and how many because they lie above one
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("seatbelt profile of %d bytes for %d roots and %d directories above them; the limit is %d", e.Bytes, e.Roots, e.Ancestors, e.Limit)
}

// Hint returns what to change.
func (e *SizeError) Hint() string {
	return "name fewer roots: deny the directory that holds them and carve out what is needed"
}
