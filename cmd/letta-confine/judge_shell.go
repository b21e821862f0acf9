//go:build !launcher

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/letta-confine/letta-confine/internal/flagset"
	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/shell/readonly"
	"github.com/letta-confine/letta-confine/verdict"
)

const shellUsage = `usage: letta-confine check shell [flags] [COMMAND]

Says whether a command line, the argument or standard input, does nothing but
read: allow, or ask. It runs nothing.

  --root DIR       where contents may be read; here, if there is none (repeats)
  --writable DIR   where redirections may write (repeats)
  --shell bash|sh  what will run it; for sh, all its readings must agree
  --json           each simple command: words, place, answer, paths; a rewritten
                   call where there is a safe one

exit status: 0 allow, 3 ask, 125 the check failed
`

// shellAnswer is check shell --json.
type shellAnswer struct {
	Schema int `json:"schema"`
	verdict.Verdict
	Statements []readonly.Statement `json:"statements"`
	Doubts     []shell.Doubt        `json:"doubts,omitempty"`
}

// checkShell is letta-confine check shell.
func checkShell(args []string) (int, error) {
	var roots, writable []string
	var dialect string
	var json bool
	words, err := parseCheck(args, []flag{
		{"root", false, func(_ *options, s string) error { return directory(&roots, s) }},
		{"writable", false, func(_ *options, s string) error { return directory(&writable, s) }},
		{"shell", false, func(_ *options, s string) error { return oneOf(&dialect, s, "bash", "sh") }},
		{"json", true, func(_ *options, s string) error { return boolean(&json, s) }},
	})
	if errors.Is(err, flagset.ErrHelp) {
		fmt.Print(shellUsage)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	src, err := subject(words)
	if err != nil {
		return 0, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	if len(roots) == 0 {
		roots = []string{cwd}
	}
	home := os.Getenv("HOME")
	j := &readonly.Judge{Cwd: cwd, Home: home, Roots: roots, Writable: writable, Facts: readonly.Host{}}
	answer := shellAnswer{Schema: verdict.Schema, Statements: []readonly.Statement{}}
	script, err := shell.Options{POSIX: dialect == "sh", Vars: homeVar(home)}.Parse(src)
	if err != nil {
		answer.Verdict = verdict.Verdict{Code: "refused", Reason: err.Error()}
	} else {
		answer.Statements = j.Script(script)
		answer.Doubts = script.Doubts
		answer.Verdict = readonly.Whole(script, answer.Statements)
	}
	return answerCheck(answer.Verdict, json, answer)
}

// homeVar is what is known of variables. A home that is not a clean absolute path
// is not known.
func homeVar(home string) map[string]string {
	if !filepath.IsAbs(home) || filepath.Clean(home) != home {
		return nil
	}
	return map[string]string{"HOME": home}
}

// answerCheck gives an answer on standard output.
func answerCheck(v verdict.Verdict, json bool, answer any) (int, error) {
	if json {
		return v.Decision.Status(), printJSON(answer)
	}
	fmt.Printf("%s: %s\n", v.Decision, v.Reason)
	return v.Decision.Status(), nil
}

// parseCheck reads the flags of a check that is about no run, and returns the
// words after them.
func parseCheck(args []string, flags []flag) ([]string, error) {
	var set flagset.Set
	for _, f := range flags {
		set.Func(f.name, f.takes(), func(s string) error { return f.set(nil, s) })
	}
	err := set.Parse(args)
	if err != nil && !errors.Is(err, flagset.ErrHelp) {
		return nil, usageError(err.Error())
	}
	return set.Args(), err
}

// directory adds a directory as an absolute path.
func directory(to *[]string, s string) error {
	if s == "" {
		return errors.New("the value is empty")
	}
	dir, err := filepath.Abs(s)
	*to = append(*to, dir)
	return err
}

// maxSubject bounds what is read from standard input.
const maxSubject = 1 << 20

// subject is what a check is about: its argument, or standard input.
func subject(words []string) (string, error) {
	switch len(words) {
	case 0:
		text, err := io.ReadAll(io.LimitReader(os.Stdin, maxSubject+1))
		if err == nil && len(text) > maxSubject {
			err = fmt.Errorf("more than %d bytes", maxSubject)
		}
		if err != nil {
			return "", fmt.Errorf("standard input: %w", err)
		}
		return strings.TrimSuffix(string(text), "\n"), nil
	case 1:
		return words[0], nil
	}
	return "", usageError("check takes one argument: quote the command")
}
