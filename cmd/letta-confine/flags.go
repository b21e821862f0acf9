package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/internal/flagset"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/probe"
	"github.com/letta-confine/letta-confine/profile"
)

// options is the command line.
type options struct {
	policies []string      // --policy, as written
	listed   policy.Policy // the roots given by flags

	profile                                        string
	who                                            profile.Flags // what the profile is about; its Workspace is the mode's too
	mode, preset, defaultMode                      string
	scrubEnv                                       bool
	keepEnv, setEnv, credentials                   []string
	honorLettaDefault, printPolicy                 bool
	tmpdir                                         string
	noTmpdir                                       bool
	tmp                                            string   // host or private
	private                                        []string // directories in whose place the command has an empty one of its own
	isolateGiven, dieGiven, byDefault, denyHelpers bool
	yielding                                       bool // what a backend cannot keep beside paths is named, not refused

	caches, backend, prefer, require, onUnavailable, missingDenied string

	supervise, auditDenials                                         bool
	failOnDenial                                                    int    // a status, or 0
	annotate                                                        string // github
	protect, protectGit, gitWorktree                                []string
	isolate, newSession, dieWithParent, selfTest, exec, risks, self bool
	bwrap, chdir, report, wish, stderr, auditLog                    string
	allowOverDenial, createWritable, quiet, json, bareWord          bool
	maxSiblings                                                     int
	keepFDs                                                         []int
	probeTimeout, answerTimeout                                     time.Duration
	approval, answerer, sessionLog, tool, callID                    string
	widen, justification                                            string
	widenOnDenial                                                   bool
	args                                                            []string
	given                                                           [][2]string // every flag as it was given

	execArgv  bool              // of plan alone
	checkPlan string            // likewise
	recorded  map[string]string // policies of a plan that is checked, which can be read once only
}

// flag is one flag of the command line.
type flag struct {
	name string
	bool bool
	set  func(o *options, s string) error
}

func (f *flag) takes() flagset.Takes {
	switch {
	case f == nil:
		return flagset.Unknown
	case f.bool:
		return flagset.Nothing
	}
	return flagset.Value
}

// flags are all flags; usage.go describes them in this order. Their functions
// capture nothing, so the table is data and costs nothing at start.
var flags = []flag{
	{"policy", false, func(o *options, s string) error { o.policies = append(o.policies, s); return nil }},
	{"base-writable", false, func(o *options, s string) error { return o.listed.Add(policy.BaseWritable, s) }},
	{"deny", false, func(o *options, s string) error { return o.listed.Add(policy.Denied, s) }},
	{"read-only", false, func(o *options, s string) error { return o.listed.Add(policy.ReadOnly, s) }},
	{"writable", false, func(o *options, s string) error { return o.listed.Add(policy.Writable, s) }},
	{"restrict-writes", true, func(o *options, s string) error { return boolean(&o.listed.RestrictWrites, s) }},
	{"mode", false, func(o *options, s string) error { return oneOf(&o.mode, s, append(slices.Clone(modes), "env")...) }},
	{"default-mode", false, func(o *options, s string) error { return oneOf(&o.defaultMode, s, modes...) }},
	{"preset", false, func(o *options, s string) error { return oneOf(&o.preset, s, modes...) }},
	{"session-log", false, func(o *options, s string) error { return text(&o.sessionLog, s) }},
	{"approval", false, func(o *options, s string) error {
		if o.approval == never { // whatever comes after it
			s = never
		}
		return oneOf(&o.approval, s, ask, never)
	}},
	{"answerer", false, func(o *options, s string) error {
		if s == tty || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "fd:") {
			o.answerer = s
			return nil
		}
		return errors.New("want tty, fd:N or the absolute path of a program")
	}},
	{"answer-timeout", false, func(o *options, s string) (err error) { o.answerTimeout, err = span(s); return err }},
	{"widen", false, func(o *options, s string) error { return oneOf(&o.widen, s, workspaceWrite, danger) }},
	{"justification", false, func(o *options, s string) error { return text(&o.justification, strings.TrimSpace(s)) }},
	{"widen-on-denial", true, func(o *options, s string) error {
		o.supervise = true // who sees the denial
		return boolean(&o.widenOnDenial, s)
	}},
	{"tool-name", false, func(o *options, s string) error { return text(&o.tool, s) }},
	{"call-id", false, func(o *options, s string) error { return text(&o.callID, s) }},
	{"profile", false, func(o *options, s string) error { return oneOf(&o.profile, s, profile.Names()...) }},
	{"agent-id", false, func(o *options, s string) error { return text(&o.who.AgentID, s) }},
	{"parent-agent-id", false, func(o *options, s string) error { return text(&o.who.ParentAgentID, s) }},
	{"memory-dir", false, func(o *options, s string) error { return text(&o.who.MemoryDir, s) }},
	{"layout", false, func(o *options, s string) error { return oneOf(&o.who.Layout, s, profile.Layouts()...) }},
	{"agents-tree", false, func(o *options, s string) error {
		if s == "" {
			return errors.New("the value is empty")
		}
		o.who.AgentsTrees = append(o.who.AgentsTrees, s)
		return nil
	}},
	{"home", false, func(o *options, s string) error { return text(&o.who.Home, s) }},
	{"workspace", false, func(o *options, s string) error { return text(&o.who.Workspace, s) }},
	{"isolation-root", false, func(o *options, s string) error { return text(&o.who.IsolationRoot, s) }},
	{"honor-letta-default", true, func(o *options, s string) error { return boolean(&o.honorLettaDefault, s) }},
	{"deny-helpers", true, func(o *options, s string) error { return boolean(&o.denyHelpers, s) }},
	{"protect", false, func(o *options, s string) error { o.protect = append(o.protect, s); return nil }},
	{"protect-git", false, func(o *options, s string) error { o.protectGit = append(o.protectGit, s); return nil }},
	{"git-worktree", false, func(o *options, s string) error { o.gitWorktree = append(o.gitWorktree, s); return nil }},
	{"caches", false, func(o *options, s string) error { return oneOf(&o.caches, s, "none", "private", "host") }},
	{"backend", false, func(o *options, s string) error { return oneOf(&o.backend, s, "auto", "bwrap", "landlock", "seatbelt") }},
	{"prefer", false, func(o *options, s string) error { return oneOf(&o.prefer, s, "strong", "fast") }},
	{"require", false, func(o *options, s string) error { return oneOf(&o.require, s, "full", "contents", "any") }},
	{"on-unavailable", false, func(o *options, s string) error { return oneOf(&o.onUnavailable, s, "fail", "run") }},
	{"allow-over-denial", true, func(o *options, s string) error { return boolean(&o.allowOverDenial, s) }},
	{"bwrap", false, func(o *options, s string) error { return text(&o.bwrap, s) }},
	{"missing-denied", false, func(o *options, s string) error { return oneOf(&o.missingDenied, s, "create", "refuse") }},
	{"create-writable", true, func(o *options, s string) error { return boolean(&o.createWritable, s) }},
	{"max-siblings", false, func(o *options, s string) (err error) { o.maxSiblings, err = number(s, 1<<20); return err }},
	{"chdir", false, func(o *options, s string) error { return text(&o.chdir, s) }},
	{"tmp", false, func(o *options, s string) error { return oneOf(&o.tmp, s, "host", "private") }},
	{"tmpdir", false, func(o *options, s string) error { return text(&o.tmpdir, s) }},
	{"no-tmpdir", true, func(o *options, s string) error { return boolean(&o.noTmpdir, s) }},
	{"scrub-env", true, func(o *options, s string) error { return boolean(&o.scrubEnv, s) }},
	{"keep-env", false, func(o *options, s string) error { o.keepEnv = append(o.keepEnv, s); return launch.CheckPattern(s) }},
	{"env", false, func(o *options, s string) error {
		if s == "" || s[0] == '=' || strings.IndexByte(s, 0) >= 0 {
			return errors.New("want NAME=VALUE, or the NAME of a variable of the caller's")
		}
		o.setEnv = append(o.setEnv, s)
		return nil
	}},
	{"credential", false, func(o *options, s string) error { o.credentials = append(o.credentials, s); return nil }},
	{"keep-fd", false, func(o *options, s string) error {
		fd, err := number(s, 1<<20)
		if err == nil && fd <= 2 {
			err = errors.New("standard input, output and error are the command's already")
		}
		o.keepFDs = append(o.keepFDs, fd)
		return err
	}},
	{"new-session", true, func(o *options, s string) error { return boolean(&o.newSession, s) }},
	{"isolate-processes", true, func(o *options, s string) error { o.isolateGiven = true; return boolean(&o.isolate, s) }},
	{"die-with-parent", true, func(o *options, s string) error { o.dieGiven = true; return boolean(&o.dieWithParent, s) }},
	{"supervise", true, func(o *options, s string) error { return boolean(&o.supervise, s) }},
	{"exec", true, func(o *options, s string) error { return boolean(&o.exec, s) }},
	{"print-policy", true, func(o *options, s string) error { return boolean(&o.printPolicy, s) }},
	{"report", false, func(o *options, s string) error { return text(&o.report, s) }},
	{"audit-log", false, func(o *options, s string) error { return text(&o.auditLog, s) }},
	{"fail-on-denial", true, func(o *options, s string) error { return o.failWith(s) }},
	{"audit-denials", true, func(o *options, s string) error { return boolean(&o.auditDenials, s) }},
	{"annotate", false, func(o *options, s string) error {
		o.supervise = true
		return oneOf(&o.annotate, s, "github")
	}},
	{"quiet", true, func(o *options, s string) error { return boolean(&o.quiet, s) }},
	{"for", false, func(o *options, s string) error { return oneOf(&o.wish, s, denial.Ops()...) }},
	{"stderr", false, func(o *options, s string) error { return text(&o.stderr, s) }},
	{"error-format", false, func(_ *options, s string) error { return oneOf(new(string), s, errorText, errorJSON) }},
	{"risks", true, func(o *options, s string) error { return boolean(&o.risks, s) }},
	{"self", true, func(o *options, s string) error { return boolean(&o.self, s) }},
	{"self-test", true, func(o *options, s string) error { return boolean(&o.selfTest, s) }},
	{"probe-timeout", false, func(o *options, s string) (err error) { o.probeTimeout, err = span(s); return err }},
	{"json", true, func(o *options, s string) error { return boolean(&o.json, s) }},
}

// modes are DSH's; each has a preset of the same name.
var modes = []string{readOnly, workspaceWrite, danger}

const (
	readOnly       = "read-only"
	workspaceWrite = "workspace-write"
	danger         = "danger-full-access"
)

// The words of --approval, and one of --answerer.
const (
	ask   = "ask"
	never = "never"
	tty   = "tty"
)

func boolean(at *bool, s string) (err error) {
	if *at, err = strconv.ParseBool(s); err != nil {
		return errors.New("want true or false")
	}
	return nil
}

func text(at *string, s string) error {
	if s == "" {
		return errors.New("the value is empty")
	}
	*at = s
	return nil
}

// choiceError says which words a flag takes.
type choiceError struct{ words []string }

func (e *choiceError) Error() string { return "want " + strings.Join(e.words, ", ") }

func oneOf(at *string, s string, words ...string) error {
	if !slices.Contains(words, s) {
		return &choiceError{words}
	}
	*at = s
	return nil
}

// span reads a time. It is not time.ParseDuration, whose table of units would be
// made at every start.
func span(s string) (time.Duration, error) {
	unit := time.Duration(0)
	digits := ""
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"us", time.Microsecond}, {"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}} {
		if before, ok := strings.CutSuffix(s, u.name); ok && unit == 0 {
			digits, unit = before, u.unit
		}
	}
	n, err := number(digits, 1e6)
	if err != nil || n == 0 || unit == 0 {
		return 0, errors.New("want a time such as 5s")
	}
	return time.Duration(n) * unit, nil
}

// defaultDenial is the status of --fail-on-denial: EX_NOPERM of sysexits.h.
const defaultDenial = 77

// failWith takes the status for a run that was denied something.
func (o *options) failWith(s string) (err error) {
	switch s {
	case "true":
		o.failOnDenial = defaultDenial
	case "false":
		o.failOnDenial = 0
		return nil
	default:
		o.failOnDenial, err = number(s, 255)
		if err != nil || o.failOnDenial == 0 || o.failOnDenial >= launch.ExitFailure && o.failOnDenial <= launch.ExitNotFound {
			return errors.New("want a status from 1 to 255, but none of 125, 126 and 127, which say that the command did not run")
		}
	}
	o.supervise = true
	return nil
}

func number(s string, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("want a number from 0 to %d", most)
	}
	return n, nil
}

// defaults are the options of a command line without flags.
func defaults() *options {
	return &options{
		caches: "none", backend: "auto", prefer: "strong", require: "contents", onUnavailable: "fail",
		missingDenied: "create", maxSiblings: landlock.DefaultMaxSiblings, probeTimeout: probe.Limit,
		answerTimeout: 5 * time.Minute,
	}
}

// parse reads a command line. Flags end at "--" or at the first other word. more are
// those that only one face has.
func parse(args []string, more ...flag) (*options, error) {
	o := defaults()
	find := func(name string) *flag {
		for _, list := range [][]flag{flags, more} {
			for i := range list {
				if list[i].name == name {
					return &list[i]
				}
			}
		}
		return nil
	}
	words, dash, err := flagset.Parse(args,
		func(name string) flagset.Takes { return find(name).takes() },
		func(name, value string) error {
			o.given = append(o.given, [2]string{name, value})
			return find(name).set(o, value)
		})
	if refused, ok := errors.AsType[*flagset.ValueError](err); ok {
		err = refused.Err
		if _, ok := errors.AsType[*policy.RootError](err); !ok {
			err = fmt.Errorf("--%s %q: %w", refused.Name, refused.Value, err)
		}
		if hintOf(err) != "" {
			return nil, err
		}
	}
	switch {
	case errors.Is(err, flagset.ErrHelp):
		return nil, err
	case err != nil:
		return nil, usageError(err.Error())
	}
	o.args = words
	o.bareWord = len(words) > 0 && !dash
	return o, nil
}

// parseRun is parseCommand where --print-policy needs no command.
func parseRun(args []string) (*options, error) {
	o, err := parse(args)
	if err == nil && (!o.printPolicy || len(o.args) > 0) {
		o, err = parseCommand(args)
	}
	if err == nil {
		err = o.checkWidening()
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// checkWidening refuses half of a widening.
func (o *options) checkWidening() error {
	switch {
	case (o.widen == "") != (o.justification == ""):
		return usageError("--widen and --justification go together")
	case o.widenOnDenial && o.widen == "":
		return usageError("--widen-on-denial needs --widen and --justification")
	case o.widenOnDenial && o.exec:
		return usageError("--exec leaves nobody to see a denial, which --widen-on-denial needs")
	}
	return nil
}

// parseCommand is parse for the faces that run a command.
func parseCommand(args []string) (*options, error) {
	o, err := parse(args)
	if err == nil {
		err = o.checkArgs()
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// checkArgs refuses what is no command line with a command.
func (o *options) checkArgs() error {
	switch {
	case o.bareWord:
		return usageError(fmt.Sprintf("write -- before the command %q", o.args[0]))
	case len(o.args) == 0:
		return usageError("no command")
	case o.args[0] == "":
		return usageError("the command is empty")
	}
	return nil
}

// hasPolicy reports whether the command line says anything about roots.
func (o *options) hasPolicy() bool {
	if len(o.policies) > 0 || o.listed.RestrictWrites || o.profile != "" {
		return true
	}
	for _, l := range policy.Lists() {
		if len(o.listed.Roots(l)) > 0 {
			return true
		}
	}
	return false
}
