//go:build linux

package guard_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/profile"
	"github.com/letta-confine/letta-confine/verdict"
)

// deviations are the facts of letta-code's that this guard does not share
// (docs/decisions/0021-file-tools.md).
var deviations = map[string]string{
	"sentinel": "LETTA_SANDBOX does not turn the guard off: anybody can set a variable",
	"star":     "a pattern across all agents is about their tree, and not about an agent called *",
}

// TestLetta runs the facts of letta-code's own tests, where the folder that holds
// them is named (make conformance CASES=DIR).
func TestLetta(t *testing.T) {
	cases := os.Getenv("CONFINE_CASES")
	if cases == "" {
		t.Skip("CONFINE_CASES names no folder")
	}
	text, err := os.ReadFile(filepath.Join(cases, "letta", "guard.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	column := map[string]int{}
	for i, name := range strings.Split(lines[0], "\t") {
		column[name] = i
	}
	for _, line := range lines[1:] {
		f := strings.Split(line, "\t")
		t.Run(f[0], func(t *testing.T) { fact(t, func(name string) string { return f[column[name]] }) })
	}
}

func fact(t *testing.T, cell func(string) string) {
	home, tmp := scratch(t), scratch(t)
	place := strings.NewReplacer("{HOME}", home, "{TMPHOME}", home, "{TMP}", tmp)
	var env, options map[string]any
	for name, v := range map[string]*map[string]any{"env_json": &env, "options_json": &options} {
		if err := json.Unmarshal([]byte(place.Replace(cell(name))), v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	other := home + "/.letta/agents/agent-other/memory"
	if cell("setup") != "" {
		mkdir(t, other, home+"/project")
		for _, link := range []string{home + "/project/link", home + "/escape"} {
			if err := os.Symlink(other, link); err != nil {
				t.Fatal(err)
			}
		}
	}
	mkdir(t, tmp+"/runs/run-a", tmp+"/runs/run-b")
	getenv := func(name string) string { s, _ := env[name].(string); return s }
	flags := profile.Flags{Home: home}
	flags.AgentID, _ = options["currentAgentId"].(string)
	if flags.AgentID == "" && getenv("AGENT_ID") == "" {
		flags.AgentID = "agent-none"
	}
	source := profile.Source{Flags: flags, Getenv: getenv, Cwd: "/", FS: hostfs.FS{}}
	agents, err := profile.FileTools(source)
	if err != nil {
		t.Fatal(err)
	}
	off, _ := options["--disable-memory-guard"].(bool)
	off = off && getenv("LETTA_CODE_AGENT_ROLE") != "subagent"
	expected, want := cell("expected"), cell("offending_or_ids")

	g := guard.Guard{FS: hostfs.FS{}, Home: home}
	switch kind := cell("guard"); kind {
	case "allowed-agents":
		got := agents.Self
		if agents.Parent != "" {
			got += "," + agents.Parent
		}
		if got != want {
			t.Errorf("allowed agents are %s, want %s", got, want)
		}
		return
	case "guard-disabled?":
		if (expected == "yes") != off {
			t.Errorf("disabled: %v, want %s", off, expected)
		}
		return
	}
	if want == "workspace sandbox" { // the row says so here only
		options["root"], options["isolationRoot"] = tmp+"/runs/run-a", tmp+"/runs"
	}
	if root, ok := options["root"].(string); ok {
		isolation := options["isolationRoot"].(string)
		ws, err := profile.Build(profile.Workspace, profile.Source{Flags: profile.Flags{Workspace: root, IsolationRoot: isolation}, Getenv: getenv, FS: hostfs.FS{}})
		if err != nil {
			t.Fatal(err)
		}
		add(t, &g, ws.Policy)
	} else if !off {
		if err := g.AddAgents(agents); err != nil {
			t.Fatal(err)
		}
	}
	cwd := place.Replace(cell("cwd"))
	if cwd == "" {
		cwd = "/tmp"
	}
	r := g.Judge(guard.Call{Tool: cell("tool"), Input: []byte(place.Replace(cell("args_json"))), Cwd: cwd})
	var ids []string
	for _, p := range r.Paths {
		for _, id := range p.Agents {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	switch expected {
	case "scoped", "unscoped":
		want := slices.DeleteFunc(strings.Split(want, ","), func(id string) bool { return id == agents.Self || id == "" })
		if !slices.Equal(ids, want) {
			t.Errorf("agents other than the own are %q, want %q", ids, want)
		}
		return
	}
	if getenv("LETTA_SANDBOX") != "" && expected == "allow" {
		expected = "deny"
		t.Log(deviations["sentinel"])
	}
	if r.Decision.String() != expected {
		t.Errorf("%s, want %s: %s", r.Decision, expected, r.Reason)
	}
	if want == "*" {
		want = "<unresolved>"
		t.Log(deviations["star"])
	}
	if r.Decision == verdict.Deny && r.Code == guard.OtherAgent && strings.HasPrefix(want, "agent-") && !slices.Contains(ids, want) {
		t.Errorf("agents are %q, want %q", ids, want)
	}
}

func add(t *testing.T, g *guard.Guard, p policy.Policy) {
	t.Helper()
	r, err := policy.Resolve(p, g.FS)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Add(p, r); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func scratch(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
