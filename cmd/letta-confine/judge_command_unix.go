//go:build (linux || darwin) && !launcher

package main

import (
	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/rules"
	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/shell/readonly"
	"github.com/letta-confine/letta-confine/verdict"
)

// commandVerdict answers for the commands of a shell tool: what only reads, and reads
// below root what the guard does not object to, need not be asked.
type commandVerdict struct {
	guard *guard.Guard
	root  string // canonical
}

func (c commandVerdict) judge(call rules.ToolCall, commands []string) verdict.Verdict {
	ask := func(code, reason string) verdict.Verdict {
		return verdict.Verdict{Decision: verdict.Ask, Code: code, Reason: reason}
	}
	if len(commands) == 0 {
		return ask("no-command", "the call has no command")
	}
	cwd, err := call.Directory()
	if err != nil {
		return ask("unknown-argument", err.Error())
	}
	roots := []string{c.root}
	if c.root == "/" || policy.Holds(c.root, canonicalOr(c.guard.Home)) {
		roots = nil // too much to be a workspace
	}
	v := verdict.Verdict{Decision: verdict.Allow, Code: "read-only", Reason: "read-only"}
	for _, command := range commands {
		// Which shell the harness starts is not known.
		script, err := shell.Options{POSIX: true, Vars: map[string]string{"HOME": c.guard.Home}}.Parse(command)
		if err != nil {
			return ask("not-understood", err.Error())
		}
		judge := readonly.Judge{Cwd: cwd, Home: c.guard.Home, Roots: roots, Facts: readonly.Host{}}
		statements := judge.Script(script)
		v = v.Stricter(readonly.Whole(script, statements))
		for _, s := range statements {
			if len(s.Reads) == 0 {
				continue
			}
			// A command may read all that is below a directory.
			if r := c.guard.Judge(guard.Call{Tool: "ls", Paths: s.Reads, Cwd: cwd}); r.Decision != verdict.Allow {
				v = v.Stricter(ask(r.Code, r.Reason))
			}
		}
	}
	return v
}
