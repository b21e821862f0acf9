// Package rules judges the tool calls of an agent by the permission rules of
// letta-code and Claude Code: deny, ask and allow rules, then what only reads, and ask
// for the rest; guards can make any answer stricter. What a rule says of a shell command is
// compared with the words of every simple command in it, never with its text.
//
// # Limits
//
// A rule about paths sees the paths that a call names, not what a search or a
// program finds beneath them. The kernel's policy is the boundary.
package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/shell/readonly"
	"github.com/letta-confine/letta-confine/verdict"
)

// ToolCall is what an agent means to do.
type ToolCall struct {
	Tool  string
	Input map[string]any // as the harness gives it, decoded from JSON
	Cwd   string         // absolute
}

// List is where a rule stands.
type List string

// The lists of a settings file.
const (
	Deny      List = "deny"
	AlwaysAsk List = "alwaysAsk"
	Ask       List = "ask"
	Allow     List = "allow"
)

// Rule is Tool or Tool(payload).
type Rule struct {
	Text    string // as it was written
	Tool    string
	Payload string
	Bare    bool   // there is no payload
	Project string // the directory that it belongs to
	claude  bool   // paths in it are Claude Code's
	shell   *shellRule
}

// Set is the rules that are in force.
type Set struct {
	Rules map[List][]Rule
	// Directories are readable beside the current one.
	Directories []string
	// Mode is standard, strict, acceptEdits or unrestricted; empty is standard.
	Mode string
	Home string
	// Claude has the paths of rules that are added from now on read as Claude Code
	// does: /path is the project's, a deny or ask rule without a slash is met at any
	// depth, ** stays beneath the current directory in an allow rule.
	Claude bool
	// LettaAsk lets ask rules lose to allow rules, as they do in letta-code.
	LettaAsk bool
	// POSIX says that commands may be run by any sh, not by bash.
	POSIX bool
	Facts readonly.Facts

	memo *memo // of one call, or nil
}

// Guard is a check that no rule can overrule. Its answer counts if ok, and only
// where it is stricter than what the rules say.
type Guard func(ToolCall) (v verdict.Verdict, ok bool)

// Result is the answer to a tool call.
type Result struct {
	verdict.Verdict
	// Statements are the simple commands, if it is a shell command.
	Statements []readonly.Statement `json:"statements,omitempty"`
}

// ParseRule reads a rule.
func ParseRule(text string) (Rule, error) {
	r := Rule{Text: text}
	text = strings.TrimSpace(text)
	tool, payload, found := strings.Cut(text, "(")
	r.Tool, r.Bare = strings.TrimSpace(tool), !found
	if found {
		body, closed := strings.CutSuffix(payload, ")")
		if !closed {
			return r, fmt.Errorf("rule %q: no ) at the end", r.Text)
		}
		r.Payload = body
	}
	if r.Tool == "" || strings.ContainsAny(r.Tool, " )\t\n") || r.Tool != "*" && strings.Contains(r.Tool, "*") && !strings.HasPrefix(r.Tool, "mcp__") {
		return r, fmt.Errorf("rule %q: want Tool or Tool(payload)", r.Text)
	}
	if !r.Bare && canonical(r.Tool) == "Bash" {
		var err error
		if r.shell, err = compile(r.Payload); err != nil {
			return r, fmt.Errorf("rule %q: %w", r.Text, err)
		}
	}
	return r, nil
}

// Add adds rules to a list.
func (s *Set) Add(list List, project string, texts ...string) error {
	if s.Rules == nil {
		s.Rules = map[List][]Rule{}
	}
	for _, text := range texts {
		r, err := ParseRule(text)
		if err != nil {
			return err
		}
		r.Project, r.claude = project, s.Claude
		if !slices.ContainsFunc(s.Rules[list], func(o Rule) bool { return o.Text == r.Text && o.Project == project && o.claude == r.claude }) {
			s.Rules[list] = append(s.Rules[list], r)
		}
	}
	return nil
}

// AddList adds the rules of a flag: a list with commas, but not those in
// parentheses. A file tool without a payload stands for all its paths.
func (s *Set) AddList(list List, project, text string) error {
	depth, from := 0, 0
	var texts []string
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ',' && depth == 0:
			if one := strings.TrimSpace(text[from:i]); one != "" {
				texts = append(texts, one)
			}
			from = i + 1
		case text[i] == '(':
			depth++
		case text[i] == ')':
			depth--
		}
	}
	if len(texts) == 0 {
		return errors.New("the list of rules is empty")
	}
	return s.Add(list, project, texts...)
}

// modes are the names that a mode goes by.
func mode(name string) (string, error) {
	switch name {
	case "", "standard", "default", "manual", "plan", "auto", "dontAsk":
		return "standard", nil // who of Claude Code's asks nobody, or a program, is its own business
	case "strict", "read-only":
		return "strict", nil
	case "acceptEdits", "workspace-write":
		return "acceptEdits", nil
	case "unrestricted", "bypassPermissions", "fullAccess", "danger-full-access":
		return "unrestricted", nil
	}
	return "", fmt.Errorf("mode %q: want standard, strict, acceptEdits or unrestricted", name)
}

// SetMode sets the mode by any of its names.
func (s *Set) SetMode(name string) (err error) {
	s.Mode, err = mode(name)
	return err
}

// Normal is the rule with the name that its tool is compared by.
func (r Rule) Normal() string {
	if r.Bare {
		return canonical(r.Tool)
	}
	return canonical(r.Tool) + "(" + r.Payload + ")"
}
