//go:build !launcher

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/hook"
	"github.com/letta-confine/letta-confine/internal/flagset"
	"github.com/letta-confine/letta-confine/rules"
	"github.com/letta-confine/letta-confine/shell/readonly"
	"github.com/letta-confine/letta-confine/verdict"
)

const rulesUsage = `usage: letta-confine check rules [flags] [COMMAND|PATH|CALL]

Judges a tool call by permission rules: deny, ask, allow, what only reads, ask.
The argument, or standard input, is a command line, with --tool what that tool is
about, or a call as JSON: {"tool_name": ..., "tool_input": {...}, "cwd": ...}.

  --settings FILE   a settings file of letta-code or Claude Code (repeats)
  --settings letta|claude   the files that letta-code or Claude Code would read
  --deny RULES  --ask RULES  --allow RULES   rules, with commas between
  --mode standard|strict|acceptEdits|unrestricted
  --tool NAME       what the argument is for; Bash
  --root DIR        may be read without asking, beside here (repeats)
  --shell bash|sh   what runs commands; for sh, all its readings must agree
  --restrict FILE       which tools there are, and guards (repeats; docs/hooks.md)
  --ask-order letta     allow rules win over ask rules, as in letta-code
  --rules-dialect letta|claude  whose paths are in the rules; those of files in
                        .claude are Claude Code's, others letta-code's
  --list-tools      print the tools that the deny rules leave
  --json            print the answer as JSON

exit status: 0 allow, 2 deny, 3 ask, 125 the check failed
`

// ruling is the command line of check rules.
type ruling struct {
	scoping
	settings          []string
	given             map[rules.List][]string
	mode, tool, order string
	dialect, shell    string
	roots             []string
	list, json        bool
	cwd, home         string
}

func (r *ruling) flags() []flag {
	given := func(list rules.List) func(*options, string) error {
		return func(_ *options, s string) error { r.given[list] = append(r.given[list], s); return nil }
	}
	return []flag{
		{"settings", false, func(_ *options, s string) error { r.settings = append(r.settings, s); return nil }},
		{"deny", false, given(rules.Deny)},
		{"ask", false, given(rules.Ask)},
		{"allow", false, given(rules.Allow)},
		{"mode", false, func(_ *options, s string) error { return text(&r.mode, s) }},
		{"tool", false, func(_ *options, s string) error { return text(&r.tool, s) }},
		{"root", false, func(_ *options, s string) error { return directory(&r.roots, s) }},
		r.scoping.flag(),
		{"shell", false, func(_ *options, s string) error { return oneOf(&r.shell, s, "bash", "sh") }},
		{"ask-order", false, func(_ *options, s string) error { return oneOf(&r.order, s, "strict", "letta") }},
		{"rules-dialect", false, func(_ *options, s string) error { return oneOf(&r.dialect, s, "letta", "claude") }},
		{"list-tools", true, func(_ *options, s string) error { return boolean(&r.list, s) }},
		{"json", true, func(_ *options, s string) error { return boolean(&r.json, s) }},
	}
}

// checkRules is letta-confine check rules.
func checkRules(args []string) (int, error) {
	r := ruling{given: map[rules.List][]string{}}
	words, err := parseCheck(args, r.flags())
	if errors.Is(err, flagset.ErrHelp) {
		fmt.Print(rulesUsage)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if r.cwd, err = os.Getwd(); err != nil {
		return 0, err
	}
	set, err := r.set()
	if err == nil {
		err = r.scoping.read()
	}
	if err != nil {
		return 0, err
	}
	if r.list {
		tools := slices.DeleteFunc(set.Tools(), func(tool string) bool { return !r.has(tool) })
		if r.json {
			return 0, printJSON(map[string]any{"schema": verdict.Schema, "tools": tools})
		}
		fmt.Println(strings.Join(tools, "\n"))
		return 0, nil
	}
	about, err := subject(words)
	if err != nil {
		return 0, err
	}
	call, err := r.call(about)
	if err != nil {
		return 0, err
	}
	result := rules.Result{Verdict: rules.UnknownTool(call.Tool)}
	if r.has(call.Tool) {
		result = rules.Judge(call, set, r.guards())
	}
	return answerCheck(result.Verdict, r.json, struct {
		Schema int `json:"schema"`
		rules.Result
	}{verdict.Schema, result})
}

// set collects the rules of the settings files and of the flags.
func (r *ruling) set() (*rules.Set, error) {
	r.home = homeVar(os.Getenv("HOME"))["HOME"]
	set := &rules.Set{
		Home: r.home, Directories: r.roots, LettaAsk: r.order == "letta", POSIX: r.shell == "sh",
		Facts: readonly.Host{},
	}
	for _, name := range r.settings {
		for _, file := range r.files(name) {
			set.Claude = r.dialect == "claude" || r.dialect == "" && file.claude
			text, err := os.ReadFile(file.name)
			if errors.Is(err, os.ErrNotExist) && file.optional {
				continue
			}
			if err == nil {
				err = set.AddSettings(text, file.project)
			}
			if err != nil {
				return nil, withHint(fmt.Errorf("settings %q: %w", file.name, withoutPath(err)), "mend the file: without its rules nothing is judged")
			}
		}
	}
	set.Claude = r.dialect == "claude"
	for list, texts := range r.given {
		for _, text := range texts {
			if err := set.AddList(list, r.cwd, text); err != nil {
				return nil, fmt.Errorf("--%s: %w", list, err)
			}
		}
	}
	if r.mode != "" {
		if err := set.SetMode(r.mode); err != nil {
			return nil, usageError(err.Error())
		}
	}
	return set, nil
}

type settingsFile struct {
	name, project string
	optional      bool
	claude        bool // it is one of Claude Code's
}

// files are the files that a value of --settings means.
func (r *ruling) files(name string) []settingsFile {
	dir := map[string]string{"letta": ".letta", "claude": ".claude"}[name]
	if dir == "" {
		project := filepath.Dir(mustAbs(name))
		base := filepath.Base(project)
		if base == ".letta" || base == ".claude" {
			project = filepath.Dir(project)
		}
		return []settingsFile{{name, project, false, base == ".claude"}}
	}
	var out []settingsFile
	add := func(project string, parts ...string) {
		out = append(out, settingsFile{filepath.Join(append([]string{project}, parts...)...), project, true, name == "claude"})
	}
	if name == "letta" {
		add(r.home, ".config", "letta", "settings.json")
	}
	add(r.home, dir, "settings.json")
	add(r.cwd, dir, "settings.json")
	add(r.cwd, dir, "settings.local.json")
	return out
}

func mustAbs(name string) string {
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	return abs
}

// call makes the tool call that the argument stands for.
func (r *ruling) call(about string) (rules.ToolCall, error) {
	c := rules.ToolCall{Tool: r.tool, Cwd: r.cwd}
	if strings.HasPrefix(strings.TrimSpace(about), "{") {
		var read struct {
			ToolName  string         `json:"tool_name"`
			ToolInput map[string]any `json:"tool_input"`
			Cwd       string         `json:"cwd"`
		}
		err := json.Unmarshal([]byte(about), &read)
		if err == nil {
			err = hook.Unique([]byte(about))
		}
		if err == nil && read.Cwd != "" && !filepath.IsAbs(read.Cwd) {
			err = fmt.Errorf("the working directory %q is not absolute", read.Cwd)
		}
		switch {
		case err == nil && r.tool != "": // a command like {"tool_name": "x$(y)"} runs y
			return c, errors.New("with --tool the argument is what the tool is about, and no JSON")
		case err == nil && read.ToolName != "":
			c.Tool, c.Input = read.ToolName, read.ToolInput
			if read.Cwd != "" {
				c.Cwd = read.Cwd
			}
			return c, nil
		case err != nil && (r.tool != "" || json.Valid([]byte(about)) || strings.Contains(about, `"tool_name"`)): // a call of some other tool is no command
			return c, fmt.Errorf("the tool call: %w", err)
		case err == nil:
			return c, errors.New("the tool call has no tool_name")
		}
	}
	if c.Tool == "" {
		c.Tool = "Bash"
	}
	c.Input = rules.Argument(c.Tool, about)
	return c, nil
}
