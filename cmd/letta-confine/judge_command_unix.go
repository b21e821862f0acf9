//go:build (linux || darwin) && !launcher

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/shell/readonly"
	"github.com/letta-confine/letta-confine/verdict"
)

// commandVerdict answers for the commands of a shell tool: what only reads, and reads
// below root what the guard does not object to, need not be asked.
type commandVerdict struct {
	guard *guard.Guard
	root  string // canonical
	cwd   string // of the call, unless its input names another
}

func (c commandVerdict) judge(input json.RawMessage, commands []string) verdict.Verdict {
	ask := func(code, reason string) verdict.Verdict {
		return verdict.Verdict{Decision: verdict.Ask, Code: code, Reason: reason}
	}
	if len(commands) == 0 {
		return ask("no-command", "the call has no command")
	}
	cwd, err := c.directory(input)
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

// systemShells are those that a call may name, as JSON.
var systemShells = []string{"null", `"bash"`, `"sh"`, `"/bin/bash"`, `"/bin/sh"`, `"/usr/bin/bash"`, `"/usr/bin/sh"`}

// directory returns where the command will run. An argument that is not known may
// change what the command does, as an environment or another shell would: with it a
// command that is rewritten is none that is confined.
func (c commandVerdict) directory(input json.RawMessage) (string, error) {
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal(input, &arguments); err != nil {
		return "", err
	}
	dir, named := c.cwd, ""
	for name, value := range arguments {
		switch name {
		case "command", "cmd", "description", "timeout", "timeout_ms", "run_in_background", "is_background",
			"yield_time_ms", "max_output_tokens", "login", "tty":
		case "sandbox_permissions", "justification", "with_escalated_permissions", "dangerouslyDisableSandbox":
			// Event.Escalates judges them.
		case "shell":
			if !slices.Contains(systemShells, string(value)) {
				return "", fmt.Errorf("the argument %q of a shell command is none of the system's", name)
			}
		case "cwd", "workdir", "working_directory", "dir_path", "directory":
			var text string
			if err := json.Unmarshal(value, &text); err != nil || named != "" {
				return "", fmt.Errorf("the argument %q is not a directory, or there are two", name)
			}
			if named = name; text != "" {
				dir = text
			}
		default:
			return "", fmt.Errorf("the argument %q of a shell command is not known", name)
		}
	}
	if !filepath.IsAbs(dir) {
		dir = c.cwd + "/" + dir
	}
	return dir, nil
}
