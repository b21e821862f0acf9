//go:build (linux || darwin) && !launcher

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/hook"
	"github.com/letta-confine/letta-confine/internal/flagset"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/profile"
	"github.com/letta-confine/letta-confine/rules"
	"github.com/letta-confine/letta-confine/verdict"
)

const hookUsage = `usage: letta-confine check hook [flags] <event.json

Answers a harness that asks before it runs a tool: Claude Code (PreToolUse),
letta-code and Codex (PreToolUse, PermissionRequest), Gemini CLI (BeforeTool) and
Cursor (preToolUse, beforeShellExecution, beforeReadFile, beforeMCPExecution).
Standard output has one JSON object or nothing. The flags are those of check path.

  --protocol claude|letta|codex|gemini|cursor   instead of looking for it
  --rewrite cross-agent|memory-subagent|workspace
                            have shell commands run in this launcher
  --settings FILE|letta|claude   judge by these permission rules too (repeats)
  --restrict FILE           which tools there are, and guards (repeats)
  --on-ask deny|pass        where the event cannot ask: deny, or leave it to the
                            harness; pass where it says that it asks, else deny
  --disable-memory-guard    let the agent at other agents; not for a subagent

exit status: as the harness wants it, and 2 where the check failed
`

// hooking is check hook.
type hooking struct {
	judging
	scoping
	protocol, rewrite, onAsk string
	settings                 []string
}

func (h *hooking) flags() []flag {
	return append(h.judging.flags(), h.scoping.flag(),
		flag{"protocol", false, func(_ *options, s string) error { return oneOf(&h.protocol, s, hook.Protocols()...) }},
		flag{"rewrite", false, func(_ *options, s string) error { return oneOf(&h.rewrite, s, profile.Names()...) }},
		flag{"settings", false, func(_ *options, s string) error { h.settings = append(h.settings, s); return nil }},
		flag{"on-ask", false, func(_ *options, s string) error { return oneOf(&h.onAsk, s, "deny", "pass") }})
}

// checkHook is letta-confine check hook.
func checkHook(args []string) (int, error) {
	return failClosed(func() (int, error) { return answerHook(args) }), nil
}

// failClosed makes every failure, a panic too, a denial with one line on standard
// error. Nothing that goes wrong may look like a status that a harness passes over.
func failClosed(f func() (int, error)) (status int) {
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
		if err != nil {
			complain("letta-confine: check failed: " + err.Error())
			status = verdict.Deny.Status()
		}
	}()
	status, err = f()
	return status
}

func answerHook(args []string) (int, error) {
	var h hooking
	o, err := parse(args, h.flags()...)
	if errors.Is(err, flagset.ErrHelp) {
		fmt.Print(hookUsage)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if len(o.args) > 0 {
		return 0, fmt.Errorf("check hook takes no argument, and got %q", o.args[0])
	}
	raw, err := launch.ReadAll(0, maxCall)
	if err != nil {
		return 0, fmt.Errorf("standard input: %w", err)
	}
	if err := h.scoping.read(); err != nil {
		return 0, err
	}
	e, err := hook.Parse(raw, h.protocol)
	if err != nil {
		return 0, err
	}
	opinion, err := h.judge(o, e)
	if err != nil {
		return 0, err
	}
	a := e.Answer(opinion)
	if _, err := os.Stdout.Write(a.Stdout); err != nil {
		return 0, fmt.Errorf("standard output: %w", err)
	}
	if a.Stderr != "" {
		complain(a.Stderr)
	}
	return a.Status, nil
}

func (h *hooking) judge(o *options, e hook.Event) (hook.Opinion, error) {
	var opinion hook.Opinion
	if !h.has(e.Tool) {
		v := rules.UnknownTool(e.Tool)
		return hook.Opinion{Verdict: &v}, nil
	}
	g, err := h.guard(o)
	if err != nil {
		return opinion, err
	}
	c := guard.Call{Tool: e.Tool, Input: e.Input, Cwd: e.Cwd}
	here, err := getcwd()
	switch {
	case err != nil:
		return opinion, err
	case c.Cwd == "":
		c.Cwd = here
	case !filepath.IsAbs(c.Cwd):
		return opinion, fmt.Errorf("the event's working directory %q is not absolute", c.Cwd)
	}
	if r := g.Judge(c); r.Decision != verdict.Allow {
		opinion.Verdict = &r.Verdict
		if r.Decision == verdict.Deny {
			return opinion, nil // whatever else there is to say, and however long that takes
		}
	}
	call := rules.ToolCall{Tool: e.Tool, Cwd: c.Cwd}
	if err := json.Unmarshal(e.Input, &call.Input); err != nil {
		return opinion, err
	}
	confined, unknown := false, error(nil)
	switch w, kind := h.wrapper(o, here), guard.KindOf(e.Tool); {
	case e.Polls():
		// The command was asked about when it was started.
	case kind == guard.Shell:
		commands, err := w.Commands(e)
		if err != nil && !errors.Is(err, hook.ErrNoCommand) {
			return opinion, err
		}
		root := o.who.Workspace
		if root == "" {
			root = here
		}
		v := commandVerdict{guard: g, root: canonicalOr(absolute(root))}.judge(call, commands)
		opinion.Verdict = &v
		if h.rewrite != "" && e.CanRewrite() && err == nil && !e.Escalates() {
			_, unknown = call.Directory()
			if confined = unknown == nil; confined || e.CanAsk() { // else a change would be taken for allow
				if opinion.Change, err = w.Change(e); err != nil {
					return opinion, err
				}
			}
		}
	case kind == guard.Other:
		if _, err := w.Commands(e); opinion.Verdict == nil && !errors.Is(err, hook.ErrNoCommand) {
			opinion.Verdict = &verdict.Verdict{Decision: verdict.Ask, Code: guard.Unknown, Reason: "a tool that is not known may run a command"}
		}
	}
	if !e.Polls() {
		if err := h.rules(call, here, &opinion); err != nil {
			return opinion, err
		}
	}
	if v := opinion.Verdict; e.Escalates() && (v == nil || v.Decision == verdict.Allow) {
		opinion.Verdict = &verdict.Verdict{Decision: verdict.Ask, Code: "escalation", Reason: "the call asks to run outside the harness's sandbox"}
	}
	h.object(call, &opinion)
	opinion.DenyAsk = h.onAsk == "deny" || h.onAsk == "" && unknown != nil || !e.Attended && (e.Escalates() || h.onAsk == "" && !confined)
	return opinion, nil
}

// object puts the call to the guards of the scopes, after everything else. Where there
// is no opinion the harness goes on as it does without a hook, and an objection is heard.
func (h *hooking) object(call rules.ToolCall, opinion *hook.Opinion) {
	was := verdict.Verdict{Decision: verdict.Allow}
	if opinion.Verdict != nil {
		was = *opinion.Verdict
	}
	if v := rules.Guarded(was, call, h.guards()); v.Decision > was.Decision {
		opinion.Verdict = &v
	}
}

// rules adds what permission rules say. A rule that allows a call saves a question
// about its command, and overrules nothing that the guard says.
func (h *hooking) rules(call rules.ToolCall, here string, opinion *hook.Opinion) error {
	if len(h.settings) == 0 {
		return nil
	}
	ruling := ruling{settings: h.settings, shell: "sh", cwd: here}
	set, err := ruling.set()
	if err != nil {
		return err
	}
	isShell := guard.KindOf(call.Tool) == guard.Shell
	if isShell { // where it is not known where it runs, what allows it does not count
		_, err = call.Directory()
	}
	v := rules.Judge(call, set, nil).Verdict
	switch was := opinion.Verdict; {
	case v.Rule == "":
		// No rule is met: what there is to say without rules stands.
	case was == nil, v.Decision != verdict.Allow && was.Decision <= v.Decision:
		opinion.Verdict = &v
	case isShell && err == nil && was.Decision == verdict.Ask && !guard.Objects(was.Code):
		opinion.Verdict = &v
	}
	return nil
}

// wrapper is the launcher with the profile of --rewrite, and with what the command
// line says of the agent and of the policy.
func (h *hooking) wrapper(o *options, cwd string) hook.Wrapper {
	prefix := []string{"letta-confine", "--profile", h.rewrite}
	if h.rewrite == "" {
		return hook.Wrapper{Prefix: append(prefix[:1], "--")}
	}
	who := (&inputs{opts: o}).who()
	for _, f := range []struct{ name, value string }{
		{"--agent-id", who.AgentID},
		{"--parent-agent-id", who.ParentAgentID},
		{"--layout", who.Layout},
		{"--memory-dir", who.MemoryDir},
		{"--home", who.Home},
		{"--workspace", who.Workspace},
		{"--isolation-root", who.IsolationRoot},
	} {
		if f.value != "" {
			prefix = append(prefix, f.name, f.value)
		}
	}
	for _, tree := range who.AgentsTrees {
		prefix = append(prefix, "--agents-tree", tree)
	}
	for _, g := range o.given {
		name, value := g[0], g[1]
		switch {
		case slices.Contains(notCarried, name):
			continue
		case slices.Contains(pathFlags, name) && !filepath.IsAbs(value):
			// The command may start in another directory, which an agent may have filled.
			value = cwd + "/" + value // not cleaned: what is before a .. may be a link
		}
		if i := slices.IndexFunc(flags, func(f flag) bool { return f.name == name && f.bool }); i >= 0 {
			prefix = append(prefix, "--"+name+"="+value)
		} else {
			prefix = append(prefix, "--"+name, value)
		}
	}
	return hook.Wrapper{Prefix: append(prefix, "--")}
}

// notCarried are the flags that a rewritten command does not get: those of the hook
// itself, what the wrapper says in its own words, and what would write beside the
// command's output.
var notCarried = []string{
	"protocol", "rewrite", "on-ask", "disable-memory-guard", "settings", "restrict",
	"profile", "agent-id", "parent-agent-id", "layout", "memory-dir", "home", "workspace", "isolation-root", "agents-tree",
	"json", "print-policy", "self-test", "risks", "report", "keep-fd",
}

// pathFlags are those whose value may be relative to the hook's directory.
var pathFlags = []string{"policy", "chdir", "tmpdir", "session-log", "audit-log"}
