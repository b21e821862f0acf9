//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exampleLine is a command with what it is for behind two blanks.
var exampleLine = regexp.MustCompile(`(?m)^letta-confine .*?(?:  |$)`)

// readmeHome is a home with what the examples name, and the working directory in it.
func readmeHome(t *testing.T) (home, work string) {
	t.Helper()
	home = t.TempDir()
	work = home + "/tenants/me"
	files := map[string]string{
		"bin/make": "#!/bin/sh\n", "bin/npm": "#!/bin/sh\n", "bin/letta": "#!/bin/sh\n", "bin/cmd": "#!/bin/sh\n",
		".ssh/id_rsa": "key\n", ".letta/agents/me/memory/x.md": "mine\n", ".letta/agents/other/memory/x.md": "theirs\n",
		"tenants/other/file": "theirs\n", "tenants/me/FILE": "cat: other: No such file or directory\n",
		"tenants/me/p.json":     `{"deniedRoots": ["` + home + `/.ssh"]}`,
		"tenants/me/call.json":  `{"tool_name": "Glob", "tool_input": {"pattern": "*"}, "cwd": "` + work + `"}`,
		"tenants/me/event.json": `{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "` + work + `"}`,
	}
	for name, text := range files {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", work, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return home, work
}

// The examples of the README and of the manuals run as they are written, with
// stand-ins for the programs and files that they name.
func TestExamplesRun(t *testing.T) {
	need(t, "bwrap")
	seen := 0
	for _, page := range []string{"../../README.md", manDir + "letta-confine.1", manDir + "letta-confine-check.1"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		examples := strings.ReplaceAll(string(text), `\-`, "-")
		if _, after, ok := strings.Cut(examples, ".SH EXAMPLES\n"); ok {
			examples = after
		}
		for _, line := range exampleLine.FindAllString(examples, -1) {
			seen++
			line = strings.TrimSpace(line)
			home, work := readmeHome(t)
			script := strings.NewReplacer(" …", "", "--isolation-root D", "--isolation-root "+home+"/tenants").Replace(line)
			run := exec.Command("bash", "-c", script)
			run.Dir = work
			run.Env = []string{
				"HOME=" + home, "PATH=" + filepath.Dir(launcher(t)) + ":" + home + "/bin:/usr/bin:/bin",
				"AGENT_ID=me", "LETTA_AGENT_ID=me", "MEMORY_DIR=" + home + "/.letta/agents/me/memory", "CMD=true", "TMPDIR=" + t.TempDir(),
			}
			out, _ := run.CombinedOutput()
			status, want := run.ProcessState.ExitCode(), []int{0}
			switch {
			case strings.HasPrefix(line, "letta-confine check "):
				want = []int{0, 2, 3}
			case strings.HasPrefix(line, "letta-confine probe "):
				want = []int{0, 1} // as far as this host goes
			}
			if !slices.Contains(want, status) || strings.Contains(string(out), "letta-confine: ") {
				t.Errorf("%s: %s\nstatus %d, want one of %d\n%s", page, line, status, want, out)
			}
		}
	}
	if seen < 24 {
		t.Errorf("found %d examples: the pattern is out of date", seen)
	}
}
