//go:build (linux || darwin) && !launcher

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/hook"
	"github.com/letta-confine/letta-confine/internal/flagset"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/profile"
	"github.com/letta-confine/letta-confine/verdict"
)

const pathUsage = `usage: letta-confine check path [flags] [--tool NAME] [--write] [--json] path ...
       letta-confine check path [flags] [--tool NAME] [--json] <tool-call.json

Says whether a file tool may read the paths, or with --write write them. On
standard input it takes a tool call, {"tool_name": ..., "tool_input": {...},
"cwd": ...}, or with --tool the input alone.

The flags are a run's. Where AGENT_ID or --agent-id names an agent, the
directories of other agents are denied too, or, without any flag about the
policy, they alone.

  --tool NAME               judge the paths as arguments of this tool
  --write                   the paths are written
  --disable-memory-guard    let the agent at other agents; not for a subagent
  --json                    print the answer as JSON

exit status: 0 allow, 2 deny, 3 ask, 125 the check failed
`

// maxCall bounds a tool call; letta-code's own tools take files of 10 MB.
const maxCall = 32 << 20

// errNoCall is the answer to standard input that is no tool call.
var errNoCall = withHint(errors.New("standard input is not a tool call"),
	`pass a path, or {"tool_name": "Read", "tool_input": {"file_path": "x"}, "cwd": "/w"}`)

// checkPath is letta-confine check path.
func checkPath(args []string) (int, error) {
	var j judging
	write := false
	o, err := parse(args, append(j.flags(),
		flag{"tool", false, func(_ *options, s string) error { return text(&j.tool, s) }},
		flag{"write", true, func(_ *options, s string) error { return boolean(&write, s) }})...)
	if errors.Is(err, flagset.ErrHelp) {
		fmt.Print(pathUsage)
		return 0, nil
	}
	if err == nil {
		err = o.lateFlag()
	}
	if err != nil {
		return 0, err
	}
	g, err := j.guard(o)
	if err != nil {
		return 0, err
	}
	c, err := j.call(o.args)
	if err != nil {
		return 0, err
	}
	for _, w := range j.warnings {
		warn(w)
	}
	c.Write = write
	r := g.Judge(c)
	if o.json {
		return r.Decision.Status(), printJSON(struct {
			Schema int `json:"schema"`
			guard.Result
		}{verdict.Schema, r})
	}
	fmt.Printf("%s: %s\n", r.Decision, r.Reason)
	for _, w := range r.Warnings {
		warn(w)
	}
	return r.Decision.Status(), nil
}

// judging is what the checks of tool calls have in common.
type judging struct {
	tool         string
	disableGuard bool
	in           *inputs // of the run's policy, where one is asked for
	warnings     []string
}

func (j *judging) flags() []flag {
	return []flag{{"disable-memory-guard", true, func(_ *options, s string) error { return boolean(&j.disableGuard, s) }}}
}

// guard returns the guard that the flags and the environment ask for.
func (j *judging) guard(o *options) (*guard.Guard, error) {
	home := o.who.Home
	if home == "" {
		home = os.Getenv("HOME")
	}
	g := &guard.Guard{FS: hostfs.FS{}, Home: home}
	named := o.who.AgentID != "" || os.Getenv("AGENT_ID") != "" || os.Getenv("LETTA_AGENT_ID") != ""
	if named {
		// letta-code's parent process may be told to let go; what runs below it
		// may not let itself go.
		if j.disableGuard && os.Getenv("LETTA_CODE_AGENT_ROLE") == "subagent" {
			j.warnings = append(j.warnings, "--disable-memory-guard is not for a subagent: the guard stays on")
			j.disableGuard = false
		}
		if !j.disableGuard {
			p, err := profile.FileTools(profile.Source{Flags: (&inputs{opts: o}).who(), Getenv: os.Getenv, FS: hostfs.FS{}})
			if err == nil {
				err = g.AddAgents(p)
			}
			if err != nil {
				return nil, err
			}
		}
		if !o.statesPolicy() {
			return g, nil
		}
	}
	var err error
	if j.in, err = collect(o); err != nil {
		return nil, err
	}
	if j.in.warning != "" {
		j.warnings = append(j.warnings, j.in.warning)
	}
	return g, g.Add(j.in.policy, j.in.resolved)
}

// call makes a call of paths, or reads one from standard input.
func (j *judging) call(paths []string) (guard.Call, error) {
	cwd, err := getcwd()
	if err != nil {
		return guard.Call{}, err
	}
	c := guard.Call{Tool: j.tool, Cwd: cwd}
	if len(paths) > 0 {
		if c.Tool == "" {
			c.Tool = "Read"
		}
		c.Paths = paths
		return c, nil
	}
	raw, err := launch.ReadAll(0, maxCall)
	if err != nil {
		return c, fmt.Errorf("standard input: %w", err)
	}
	return toolCall(c, raw)
}

// toolCall reads the tool call of a harness; where c has a tool already, its input.
func toolCall(c guard.Call, raw []byte) (guard.Call, error) {
	var read struct {
		ToolName  string          `json:"tool_name"`
		ToolInput json.RawMessage `json:"tool_input"`
		Cwd       string          `json:"cwd"`
		Working   string          `json:"working_directory"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return c, errNoCall
	}
	if err := hook.Unique(raw); err != nil {
		return c, fmt.Errorf("the tool call: %w", err)
	}
	if c.Tool != "" { // an agent chose every name in its input
		c.Input = raw
		return c, nil
	}
	if read.Cwd == "" {
		read.Cwd = read.Working
	}
	if read.Cwd != "" {
		c.Cwd = read.Cwd
	}
	if read.ToolName == "" || len(read.ToolInput) == 0 {
		return c, errNoCall
	}
	c.Tool, c.Input = read.ToolName, read.ToolInput
	return c, nil
}
