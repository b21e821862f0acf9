package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recipes are docs/recipes, seen from this directory.
const recipes = "../../docs/recipes"

// A recipe is a fenced block of a page: its language, what the page says that
// it comes to ("as"), and its text.
type recipe struct{ page, language, as, text string }

// blocks returns the fenced blocks of all pages.
func blocks(t *testing.T) (all []recipe) {
	t.Helper()
	pages, err := filepath.Glob(recipes + "/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no recipes: %v", err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split("\n"+string(text), "\n```") {
			if i%2 == 0 {
				continue
			}
			info, body, _ := strings.Cut(part, "\n")
			language, as, _ := strings.Cut(info, " as=")
			all = append(all, recipe{filepath.Base(page), language, as, body})
		}
	}
	return all
}

// outcomes are what the stand-in for a harness finds it can do, by the name that
// a recipe has for it; control is without the launcher.
var outcomes = map[string]string{
	"control":         "bob: read\noutside: written\ninside: written\nmemory: written\nkey: seen\n",
	"cross-agent":     "bob: refused\noutside: written\ninside: written\nmemory: written\nkey: withheld\n",
	"memory-subagent": "bob: refused\noutside: refused\ninside: refused\nmemory: written\nkey: withheld\n",
	"nobody":          "bob: refused\noutside: written\ninside: written\nmemory: refused\nkey: withheld\n",
	"workspace-write": "bob: refused\noutside: refused\ninside: written\nmemory: refused\nkey: withheld\n",
	"ci":              "bob: read\noutside: refused\ninside: written\nmemory: refused\nkey: withheld\n",
	"dsh-scrubbed":    "bob: read\noutside: refused\ninside: written\nmemory: refused\nkey: withheld\n",
	"dsh":             "bob: read\noutside: refused\ninside: written\nmemory: refused\nkey: seen\n",
}

// standIn is the program that stands in for every harness. It speaks of its own
// attempts only.
const standIn = `#!/bin/sh
try() { if (eval "$2") >/dev/null 2>&1; then echo "$1: $3"; else echo "$1: $4"; fi; }
try bob 'cat "$HOME/.letta/agents/bob/memory/x.md"' read refused
try outside 'echo x >"$HOME/outside"' written refused
try inside 'echo x >"$HOME/work/inside"' written refused
try memory 'echo x >"$HOME/.letta/agents/alice/memory/x.md"' written refused
try key 'test -n "$SOME_API_KEY"' seen withheld
`

// recipeHome is a home with two agents and a stand-in for each harness.
func recipeHome(t *testing.T) (home string, env []string) {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "confine-recipe-") // not below what workspace-write lets be written
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	for _, dir := range []string{"work", "bin", "tmp", ".claude", ".codex", ".gemini", ".letta/agents/alice/memory", ".letta/agents/bob/memory", ".ssh"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(".letta/agents/bob/memory/x.md", "what bob remembers\n", 0o644)
	for _, name := range []string{"letta", "claude", "codex", "gemini", "make", "serve"} {
		write("bin/"+name, standIn, 0o755)
	}
	return home, []string{
		"HOME=" + home, "PATH=" + filepath.Dir(launcher(t)) + ":" + home + "/bin:/usr/bin:/bin", "TMPDIR=" + home + "/tmp",
		"AGENT_ID=alice", "PROMPT=hello", "CMD=" + home + "/bin/serve", "SOME_API_KEY=planted",
	}
}

// says runs a command in the stage's work directory and returns what it says.
func says(t *testing.T, home string, env []string, stdin string, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = filepath.Join(home, "work"), env, strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Sprintf("%s: %v\n%s%s", argv[0], err, out, stderr.String())
	}
	return string(out)
}

// TestRecipes runs every block of every page with the stand-in.
func TestRecipes(t *testing.T) {
	need(t, "bwrap")
	need(t, "landlock")
	home, env := recipeHome(t)
	if got := says(t, home, env, "", filepath.Join(home, "bin/serve")); got != outcomes["control"] {
		t.Fatalf("control: without the launcher the stand-in says %q", got)
	}
	seen := map[string]int{}
	for _, r := range blocks(t) {
		seen[r.language]++
		t.Run(r.page+"/"+r.language, func(t *testing.T) {
			home, env := recipeHome(t)
			if r.page != "letta-code.md" { // no other harness says which agent it is
				env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "AGENT_ID=") })
			}
			got, as := r.run(t, home, env)
			if want, ok := outcomes[as]; !ok || got != want {
				t.Errorf("as %q it says\n%s\nwant\n%s", as, got, want)
			}
		})
	}
	if want := []string{"Dockerfile", "ini", "json", "sh", "yaml"}; !slices.Equal(slices.Sorted(maps.Keys(seen)), want) {
		t.Errorf("there are blocks of %v, want of %v", seen, want)
	}
}

// run does what somebody who uses the block would, and returns what the
// stand-in says and what it ought to have been run as.
func (r recipe) run(t *testing.T, home string, env []string) (got, as string) {
	t.Helper()
	moved := strings.NewReplacer("/usr/local/bin/letta-confine", launcher(t), "/srv/agent", home, "/home/agent", home)
	switch r.language {
	case "sh":
		return says(t, home, env, "", "sh", "-euc", r.text), r.as
	case "yaml":
		_, run, _ := strings.Cut(r.text, "  run: ")
		return says(t, home, env, "", "sh", "-euc", run), "ci"
	case "ini":
		_, start, _ := strings.Cut(r.text, "ExecStart=")
		return says(t, home, env, "", strings.Fields(moved.Replace(start))...), "workspace-write"
	case "Dockerfile":
		var argv []string
		for line := range strings.Lines(r.text) {
			word, list, _ := strings.Cut(line, " ")
			if word != "ENTRYPOINT" && word != "CMD" {
				continue
			}
			var part []string
			if err := json.Unmarshal([]byte(moved.Replace(list)), &part); err != nil {
				t.Fatal(err)
			}
			argv = append(argv, part...)
		}
		return says(t, home, env, "", argv...), "workspace-write"
	case "json":
		return r.settings(t, home, env)
	}
	t.Fatalf("no test for %q", r.language)
	return "", ""
}

// settings does with a settings file what its harness does.
func (r recipe) settings(t *testing.T, home string, env []string) (got, as string) {
	t.Helper()
	var s struct {
		RunnerCommand []string
		Hooks         struct {
			PreToolUse []struct{ Hooks []struct{ Command string } }
		}
	}
	if err := json.Unmarshal([]byte(r.text), &s); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(home, "work")
	if len(s.RunnerCommand) > 0 {
		argv := append(s.RunnerCommand, "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--die-with-parent", "--bind", work, work, "--", "serve")
		return says(t, home, env, "", append([]string{"env"}, argv...)...), "dsh-scrubbed"
	}
	call, _ := json.Marshal(map[string]any{
		"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": work, "session_id": "s", "transcript_path": "/t", "permission_mode": "default",
		"tool_input": map[string]string{"command": filepath.Join(home, "bin/serve")},
	})
	answer := says(t, home, env, string(call), "sh", "-c", s.Hooks.PreToolUse[0].Hooks[0].Command)
	var a struct {
		HookSpecificOutput struct{ UpdatedInput struct{ Command string } }
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil || a.HookSpecificOutput.UpdatedInput.Command == "" {
		t.Fatalf("the hook says %q: %v", answer, err)
	}
	return says(t, home, env, "", "bash", "-c", a.HookSpecificOutput.UpdatedInput.Command), "nobody"
}

// TestClients runs the two clients: forty lines at most, and they say what
// happened.
func TestClients(t *testing.T) {
	need(t, "bwrap")
	for name, want := range map[string]string{
		"client.mjs": "true\n1 \"\" true\n",
		"client.py":  "True\n1 b'' True\n",
	} {
		t.Run(name, func(t *testing.T) {
			interpreter := map[string]string{".mjs": "node", ".py": "python3"}[filepath.Ext(name)]
			need(t, interpreter)
			path, err := filepath.Abs(filepath.Join(recipes, name))
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), "\n"); n > 40 {
				t.Errorf("it has %d lines, want 40 at most", n)
			}
			home, env := recipeHome(t)
			env = append(env, "PATH="+filepath.Dir(launcher(t))+":"+os.Getenv("PATH"))
			if got := says(t, home, env, "", interpreter, path); got != want {
				t.Errorf("it says %q, want %q", got, want)
			}
		})
	}
}
