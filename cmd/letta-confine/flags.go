package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// options is the command line.
type options struct {
	policies []string      // --policy, as written
	listed   policy.Policy // the roots given by flags

	caches, backend, prefer, require, onUnavailable, missingDenied string

	protect, protectGit                                    []string
	isolate, newSession, dieWithParent, selfTest           bool
	bwrap, chdir, report                                   string
	allowOverDenial, createWritable, quiet, json, bareWord bool
	maxSiblings                                            int
	keepFDs                                                []int
	args                                                   []string
}

// value makes a function a flag. One small type serves every flag: what pflag
// costs at each start grows with the flags that are made (docs/decisions/0003).
type value struct {
	set  func(string) error
	text string // the default, for pflag
}

func (v *value) Set(s string) error { return v.set(s) }
func (v *value) String() string     { return v.text }
func (v *value) Type() string       { return "" }

// flag is one flag of the command line.
type flag struct {
	name string
	bool bool
	set  func(o *options, s string) error
}

// flags are all flags; usage.go describes them in this order.
var flags = []flag{
	{"policy", false, func(o *options, s string) error { o.policies = append(o.policies, s); return nil }},
	{"base-writable", false, addRoot(policy.BaseWritable)},
	{"deny", false, addRoot(policy.Denied)},
	{"read-only", false, addRoot(policy.ReadOnly)},
	{"writable", false, addRoot(policy.Writable)},
	{"restrict-writes", true, boolean(func(o *options) *bool { return &o.listed.RestrictWrites })},
	{"protect", false, func(o *options, s string) error { o.protect = append(o.protect, s); return nil }},
	{"protect-git", false, func(o *options, s string) error { o.protectGit = append(o.protectGit, s); return nil }},
	{"caches", false, oneOf(func(o *options) *string { return &o.caches }, "none", "private", "host")},
	{"backend", false, oneOf(func(o *options) *string { return &o.backend }, "auto", "bwrap", "landlock", "seatbelt")},
	{"prefer", false, oneOf(func(o *options) *string { return &o.prefer }, "strong", "fast")},
	{"require", false, oneOf(func(o *options) *string { return &o.require }, "full", "contents", "any")},
	{"on-unavailable", false, oneOf(func(o *options) *string { return &o.onUnavailable }, "fail", "run")},
	{"allow-over-denial", true, boolean(func(o *options) *bool { return &o.allowOverDenial })},
	{"bwrap", false, text(func(o *options) *string { return &o.bwrap })},
	{"missing-denied", false, oneOf(func(o *options) *string { return &o.missingDenied }, "create", "refuse")},
	{"create-writable", true, boolean(func(o *options) *bool { return &o.createWritable })},
	{"max-siblings", false, func(o *options, s string) (err error) { o.maxSiblings, err = number(s, 1<<20); return err }},
	{"chdir", false, text(func(o *options) *string { return &o.chdir })},
	{"keep-fd", false, func(o *options, s string) error {
		fd, err := number(s, 1<<20)
		if err == nil && fd <= 2 {
			err = errors.New("standard input, output and error are the command's already")
		}
		o.keepFDs = append(o.keepFDs, fd)
		return err
	}},
	{"new-session", true, boolean(func(o *options) *bool { return &o.newSession })},
	{"isolate-processes", true, boolean(func(o *options) *bool { return &o.isolate })},
	{"die-with-parent", true, boolean(func(o *options) *bool { return &o.dieWithParent })},
	{"report", false, text(func(o *options) *string { return &o.report })},
	{"quiet", true, boolean(func(o *options) *bool { return &o.quiet })},
	{"self-test", true, boolean(func(o *options) *bool { return &o.selfTest })},
	{"json", true, boolean(func(o *options) *bool { return &o.json })},
}

func addRoot(l policy.List) func(*options, string) error {
	return func(o *options, s string) error { return o.listed.Add(l, s) }
}

func boolean(at func(*options) *bool) func(*options, string) error {
	return func(o *options, s string) (err error) {
		if *at(o), err = strconv.ParseBool(s); err != nil {
			return errors.New("want true or false")
		}
		return nil
	}
}

func text(at func(*options) *string) func(*options, string) error {
	return func(o *options, s string) error {
		if s == "" {
			return errors.New("the value is empty")
		}
		*at(o) = s
		return nil
	}
}

func oneOf(at func(*options) *string, words ...string) func(*options, string) error {
	return func(o *options, s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("want %s", strings.Join(words, ", "))
		}
		*at(o) = s
		return nil
	}
}

func number(s string, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("want a number from 0 to %d", most)
	}
	return n, nil
}

// parse reads a command line. Flags end at "--" or at the first other word.
func parse(args []string) (*options, error) {
	o := &options{
		caches: "none", backend: "auto", prefer: "strong", require: "contents", onUnavailable: "fail",
		missingDenied: "create", maxSiblings: landlock.DefaultMaxSiblings,
	}
	set := pflag.NewFlagSet("letta-confine", pflag.ContinueOnError)
	set.SetInterspersed(false)
	set.Usage = func() {} // run prints the usage; pflag would add its own
	var refused error
	for _, f := range flags {
		flag := set.VarPF(&value{set: func(s string) error {
			// pflag wraps errors as text: keep the first, which may have a hint.
			err := f.set(o, s)
			if err != nil && refused == nil {
				refused = err
				if _, ok := errors.AsType[*policy.RootError](err); !ok {
					refused = fmt.Errorf("--%s %q: %w", f.name, s, err)
				}
			}
			return err
		}}, f.name, "", "")
		if f.bool {
			flag.NoOptDefVal = "true"
		}
	}
	err := set.Parse(args)
	switch {
	case refused != nil && hintOf(refused) != "":
		return nil, refused
	case refused != nil:
		return nil, usageError(refused.Error())
	case errors.Is(err, pflag.ErrHelp):
		return nil, err
	case err != nil:
		return nil, usageError(err.Error())
	}
	o.args = set.Args()
	if len(o.args) > 0 && set.ArgsLenAtDash() != 0 {
		o.bareWord = true
	}
	return o, nil
}

// parseCommand is parse for the faces that run a command.
func parseCommand(args []string) (*options, error) {
	o, err := parse(args)
	switch {
	case err != nil:
		return nil, err
	case o.bareWord:
		return nil, usageError(fmt.Sprintf("write -- before the command %q", o.args[0]))
	case len(o.args) == 0:
		return nil, usageError("no command")
	case o.args[0] == "":
		return nil, usageError("the command is empty")
	}
	return o, nil
}

// hasPolicy reports whether the command line says anything about roots.
func (o *options) hasPolicy() bool {
	if len(o.policies) > 0 || o.listed.RestrictWrites {
		return true
	}
	for _, l := range policy.Lists() {
		if len(o.listed.Roots(l)) > 0 {
			return true
		}
	}
	return false
}
