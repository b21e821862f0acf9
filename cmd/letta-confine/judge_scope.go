//go:build !launcher

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/probe"
	"github.com/letta-confine/letta-confine/rules"
	"github.com/letta-confine/letta-confine/verdict"
)

// scoping is what --restrict adds to a check.
type scoping struct {
	restrict []string // the files
	scopes   []rules.Scope
}

func (s *scoping) flag() flag {
	return flag{"restrict", false, func(_ *options, file string) error { s.restrict = append(s.restrict, file); return nil }}
}

// read reads the files. Without one of them more tools would be there: it is an error.
func (s *scoping) read() error {
	for _, name := range s.restrict {
		text, err := os.ReadFile(name)
		var scope rules.Scope
		if err == nil {
			scope, err = rules.ParseScope(text, knownTool)
		}
		if err != nil {
			return withHint(fmt.Errorf("--restrict %q: %w", name, withoutPath(err)), "mend the file: without it nothing is restricted")
		}
		s.scopes = append(s.scopes, scope)
	}
	return nil
}

func knownTool(tool string) bool { return rules.KnownTool(tool) || guard.KindOf(tool) != guard.Other }

func isShell(tool string) bool { return guard.KindOf(tool) == guard.Shell }

// has reports whether there is such a tool. Where nothing restricts them, all names are
// taken for tools; else a name is one that is known, or that of an MCP tool.
func (s *scoping) has(tool string) bool {
	if len(s.scopes) > 0 && !knownTool(tool) && !strings.HasPrefix(tool, "mcp__") {
		return false
	}
	for _, scope := range s.scopes {
		if !scope.Has(tool, isShell) {
			return false
		}
	}
	return true
}

// guards are those of all scopes, the first file's first.
func (s *scoping) guards() []rules.Guard {
	var list []rules.Guard
	for _, scope := range s.scopes {
		for _, o := range scope.Guards {
			list = append(list, func(call rules.ToolCall) (verdict.Verdict, bool) {
				switch {
				case !o.About(call.Tool, isShell):
					return verdict.Verdict{}, false
				case len(o.Program) == 0:
					return o.Match(call, isShell(call.Tool))
				}
				reason := askProgram(o, call)
				return o.Object(reason), reason != ""
			})
		}
	}
	return list
}

// guardPath is where a guard's program finds others.
const guardPath = "PATH=/usr/local/bin:/usr/bin:/bin"

// maxReason bounds what a guard's program may say, and shownReason what is shown of it.
const (
	maxReason   = 4096
	shownReason = 200
)

// askProgram runs a guard's program with the call on its standard input, and returns
// its objection: what it says, or that it does not do what a guard should. Silence
// with status 0 is the only answer that is none. It gets no variable that could hold
// a secret, and a PATH of our own: the caller's may name places that a confined
// command has written to.
func askProgram(o rules.Objector, call rules.ToolCall) string {
	input, err := json.Marshal(map[string]any{"tool_name": call.Tool, "tool_input": call.Input, "cwd": call.Cwd})
	if err != nil {
		return "the call cannot be passed to it"
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.Program[0], o.Program[1:]...)
	cmd.Env = []string{guardPath, "HOME=" + os.Getenv("HOME"), "LC_ALL=C.UTF-8"}
	cmd.WaitDelay = time.Second
	probe.OwnGroup(cmd)
	said := &limited{left: maxReason, full: cancel}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), said, &limited{left: maxReason, full: cancel}
	if err = cmd.Run(); errors.Is(err, exec.ErrWaitDelay) && cmd.Cancel != nil {
		cmd.Cancel() // what it left behind still holds its output
	}
	switch {
	case said.over || cmd.Stderr.(*limited).over:
		return "it says too much"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("it did not answer within %v", o.Timeout)
	case err != nil:
		return "it failed: " + oneLine(err.Error())
	}
	reason, _, _ := strings.Cut(strings.TrimSpace(said.text.String()), "\n")
	if reason = oneLine(strings.ToValidUTF8(reason, "?")); len(reason) > shownReason {
		reason = strings.ToValidUTF8(reason[:shownReason], "") + "..."
	}
	if reason == "" && said.text.Len() > 0 {
		return "it says nothing but blanks"
	}
	return reason
}

// limited takes some bytes, and ends the program that writes more.
type limited struct {
	text bytes.Buffer
	left int
	over bool
	full func()
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		l.over = true
		l.full()
		return 0, errors.New("too much")
	}
	l.left -= len(p)
	return l.text.Write(p)
}
