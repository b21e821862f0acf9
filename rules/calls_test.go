package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/letta-confine/letta-confine/shell/readonly"
	"github.com/letta-confine/letta-confine/verdict"
)

// tree is a project with a file and a directory to protect, behind a link.
func tree(t *testing.T) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"proj/.env", "proj/secrets/key", "proj/sub/a"} {
		if err := os.MkdirAll(filepath.Dir(dir+"/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	return dir
}

// call is a call whose input is JSON.
func call(t *testing.T, cwd, tool, input string) ToolCall {
	t.Helper()
	c := ToolCall{Tool: tool, Cwd: cwd}
	if err := json.Unmarshal([]byte(input), &c.Input); err != nil {
		t.Fatal(err)
	}
	return c
}

// Every name that a harness has for a path or a pattern is one, and every way to write
// a pattern.
func TestWhatCallsName(t *testing.T) {
	dir := tree(t)
	for _, c := range []struct{ tool, input, rule string }{
		{"ListDir", `{"target_directory":"secrets"}`, "Read(secrets/**)"},
		{"Glob", `{"target_directory":"secrets","glob_pattern":"*"}`, "Read(secrets/**)"},
		{"Glob", `{"glob_pattern":"secrets/*"}`, "Read(secrets/**)"},
		{"Glob", `{"pattern":"sub/{a,../secrets/key}"}`, "Read(secrets/**)"},
		{"Grep", `{"pattern":"k","folder":"secrets"}`, "Read(secrets/**)"},
		{"Grep", `{"pattern":"k","include":".env"}`, "Read(.env)"},
		{"Grep", `{"pattern":"k","glob":["*.ts",".env"]}`, "Read(.env)"},
		{"Grep", `{"pattern":"k","glob":"*.ts .env"}`, "Read(.env)"},
		{"Grep", `{"pattern":"k","glob":"*.ts,.env"}`, "Read(.env)"},
		{"Grep", `{"pattern":"k","glob":"{*.ts,.env}"}`, "Read(.env)"},
		{"read_many_files", `{"include":"[\"secrets/key\"]"}`, "Read(secrets/**)"},
		{"Read", `{"file_path":"file://` + dir + `/proj/.env?x"}`, "Read(.env)"},
		{"Read", `{"file_path":"file://` + dir + `/proj/%2eenv#x"}`, "Read(.env)"},
		{"Read", `{"file_path":"\ufeff.env"}`, "Read(.env)"},
		{"delete_file", `{"target_file":".env"}`, "Edit(.env)"},
		{"move_file", `{"source":".env","destination":"x"}`, "Write(.env)"},
		{"shell", `{"command":["apply_patch","*** Begin Patch\n*** Delete File: .env\n*** End Patch\n"]}`, "Edit(.env)"},
		{"shell", `{"command":["bash","-lc","cd sub && apply_patch <<E\n*** Begin Patch\n*** Update File: ../.env\n+$x\n*** End Patch\nE\n"]}`, "Edit(.env)"},
		{"Read", `{"cwd":"sub","file_path":"../.env"}`, "Read(.env)"},
		{"Grep", `{"pattern":"k","workdir":"` + dir + `/proj/secrets"}`, "Read(secrets/**)"},
		{"apply_patch", `{"workdir":"sub","input":"*** Begin Patch\n*** Update File: ../.env\n"}`, "Edit(.env)"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a\n*** Rename to: .env\n"}`, "Edit(.env)"},
		{"apply_patch", `{"patch":"diff --git a/.env b/.env\nGIT binary patch\n"}`, "Edit(.env)"},
		{"mcp__git__push", `{}`, "mcp__git"},
		{"google_web_search", `{"query":"x"}`, "WebSearch"},
		{"fetch_webpage", `{"url":"https://x.org"}`, "WebFetch"},
	} {
		s := set(t, Deny, c.rule)
		s.Mode = "unrestricted"
		if got := Judge(call(t, dir+"/proj", c.tool, c.input), s, nil); got.Decision != verdict.Deny {
			t.Errorf("deny %s: %s %s is %v (%s), want deny", c.rule, c.tool, c.input, got.Decision, got.Reason)
		}
	}
	for _, c := range []struct {
		tool, input string
		want        verdict.Decision
	}{
		{"Glob", `{"pattern":"{..,x}/*"}`, verdict.Ask},
		{"Glob", `{"pattern":".{.,}/*"}`, verdict.Ask},
		{"Glob", `{"pattern":"@(..)/*"}`, verdict.Ask},
		{"Glob", `{"pattern":["/etc/*"]}`, verdict.Ask},
		{"Glob", `{"pattern":"*","path":"../"}`, verdict.Ask},
		{"Grep", `{"pattern":"x","target_directory":"/etc"}`, verdict.Ask},
		{"read_many_files", `{"include":["{..,x}/*"]}`, verdict.Ask},
		{"Read", `{"path":"a","target":"/etc/passwd"}`, verdict.Ask},
		{"Grep", `{"pattern":"x","cwd":"/etc"}`, verdict.Ask},
		{"Glob", `{"pattern":"*","working_directory":"/etc"}`, verdict.Ask},
		{"LS", `{"cwd":".."}`, verdict.Ask},
		{"Read", `{"file_path":"passwd","cwd":"/etc"}`, verdict.Ask},
		{"Read", `{"file_path":"a","cwd":"sub"}`, verdict.Allow},
		{"Bash", `{"command":"ls","shell":"./evil"}`, verdict.Ask},
		{"Bash", `{"command":"ls","env":{"PATH":"."}}`, verdict.Ask},
		{"Bash", `{"command":"ls","Command":"rm x"}`, verdict.Ask},
		{"Bash", `{"command":"ls","workdir":"sub","shell":"/bin/sh","login":true,"tty":false}`, verdict.Allow},
		{"Glob", `{"pattern":"**/*.{ts,tsx}"}`, verdict.Allow},
		{"Glob", `{"pattern":"app/(site)/[lang]/*.tsx"}`, verdict.Allow},
		{"Grep", `{"pattern":"../x","glob":"!.env","path":"sub"}`, verdict.Allow},
		{"Grep", `{"pattern":"(a|b)/","glob":"*.{ts,tsx} *.js"}`, verdict.Allow},
		{"read_many_files", `{"include":["src/**/*.go"]}`, verdict.Allow},
	} {
		s := &Set{Home: home, Facts: readonly.Host{}}
		if got := Judge(call(t, dir+"/proj", c.tool, c.input), s, nil); got.Decision != c.want {
			t.Errorf("%s %s is %v (%s), want %v", c.tool, c.input, got.Decision, got.Reason, c.want)
		}
	}
}

// An allow rule is about the command and the path that it is met by, in the session's
// directory, and not about what else a call says.
func TestWhatAllowRulesLeaveOut(t *testing.T) {
	dir := tree(t)
	for _, c := range []struct {
		rule, tool, input string
		want              verdict.Decision
	}{
		{"Bash(make:*)", "Bash", `{"command":"make","workdir":"/etc"}`, verdict.Ask},
		{"Bash(make:*)", "Bash", `{"command":"make","cwd":"sub","workdir":"secrets"}`, verdict.Ask},
		{"Bash(make:*)", "exec_command", `{"cmd":"make","shell":"./evil"}`, verdict.Ask},
		{"Bash(make && ls)", "Bash", `{"command":"make && ls","env":{"PATH":"."}}`, verdict.Ask},
		{"Bash(make:*)", "shell", `{"command":["bash","-lc","make"],"workdir":"sub","timeout_ms":1}`, verdict.Allow},
		{"Bash(make:*)", "exec_command", `{"cmd":"make","shell":null,"workdir":"` + dir + `/proj","sandbox_permissions":"use_default"}`, verdict.Allow},
		{"Bash", "Bash", `{"command":"make","workdir":"/etc"}`, verdict.Allow},
		{"Edit(sub/**)", "Write", `{"file_path":"sub/a","cwd":"/etc"}`, verdict.Ask},
		{"Edit(sub/**)", "apply_patch", `{"input":"*** Update File: sub/a\n*** Rename to: b\n"}`, verdict.Ask},
		{"Edit(sub/**)", "apply_patch", `{"path":"sub/a","patch":"--- sub/a\n+++ b\n"}`, verdict.Ask},
		{"Edit(sub/**)", "apply_patch", `{"input":"*** Update File: sub/a\n","workdir":"` + dir + `/proj"}`, verdict.Allow},
	} {
		s := set(t, Allow, c.rule)
		if got := Judge(call(t, dir+"/proj", c.tool, c.input), s, nil); got.Decision != c.want {
			t.Errorf("allow %s: %s %s is %v (%s), want %v", c.rule, c.tool, c.input, got.Decision, got.Reason, c.want)
		}
	}
}

// A relative rule stays where it was written, whatever directory a call has, and whether
// the way there leads through a link.
func TestWhereRulesStand(t *testing.T) {
	dir := tree(t)
	for _, c := range []struct{ cwd, rule, path string }{
		{"/proj/sub", "Read(.env)", "../.env"},
		{"/proj/sub", "Read(secrets/**)", "../secrets/key"},
		{"/link/proj", "Read(secrets/**)", dir + "/proj/secrets/key"},
		{"/link/proj/sub", "Read(secrets/*)", dir + "/proj/secrets/key"},
		{"/proj", "Read(" + dir + "/link/proj/sec*/**)", "secrets/key"},
	} {
		s := &Set{Home: home, Facts: readonly.Host{}, Mode: "unrestricted"}
		if err := s.Add(Deny, dir+"/link/proj", c.rule); err != nil {
			t.Fatal(err)
		}
		for _, one := range []ToolCall{
			{Tool: "Read", Input: map[string]any{"file_path": c.path}, Cwd: dir + c.cwd},
			{Tool: "Bash", Input: map[string]any{"command": "cat " + c.path}, Cwd: dir + c.cwd},
		} {
			if got := Judge(one, s, nil); got.Decision != verdict.Deny {
				t.Errorf("%s in %s: %v is %v (%s), want deny", c.rule, c.cwd, one.Input, got.Decision, got.Reason)
			}
		}
		if got := Judge(call(t, dir+c.cwd, "Read", `{"file_path":"a"}`), s, nil); got.Decision != verdict.Allow {
			t.Errorf("%s in %s: another file is %v (%s)", c.rule, c.cwd, got.Decision, got.Reason)
		}
	}
}

// A rule with a payload is about that domain, agent or skill; where it cannot be told
// which, it denies and does not allow.
func TestArguments(t *testing.T) {
	web := func(url string) ToolCall {
		return ToolCall{Tool: "WebFetch", Input: map[string]any{"url": url, "prompt": "x"}, Cwd: project}
	}
	for _, c := range []struct {
		rule           string
		call           ToolCall
		allows, denies bool
	}{
		{"WebFetch(domain:x.org)", web("https://x.org/a"), true, true},
		{"WebFetch(domain:x.org)", web("https://X.ORG.:443/a"), true, true},
		{"WebFetch(domain:x.org)", web("https://evil.com/x.org"), false, false},
		{"WebFetch(domain:x.org)", web("https://a.x.org/"), false, true},
		{"WebFetch(domain:*.x.org)", web("https://a.x.org/"), true, true},
		{"WebFetch(domain:x.org)", web("https://x.org@evil.com/"), false, true},
		{"WebFetch(domain:x.org)", web(`https://evil.com\@x.org/`), false, true},
		{"WebFetch(domain:x.org)", web("https:x.org"), false, true},
		{"WebFetch(domain:127.0.0.1)", web("http://2130706433/"), false, true},
		{"WebFetch(domain:x.org)", call(t, project, "WebFetch", `{"url":"https://x.org","URL":"https://evil.com"}`), false, true},
		{"WebFetch(domain:x.org)", call(t, project, "web_fetch", `{"prompt":"https://x.org"}`), false, true},
		{"WebFetch(https://x.org)", web("https://evil.com/"), false, true},
		{"WebFetch()", web("https://evil.com/"), true, true},
		{"Task(Explore)", call(t, project, "Task", `{"subagent_type":"Explore"}`), true, true},
		{"Agent(Explore)", call(t, project, "Task", `{"subagent_type":"Plan"}`), false, false},
		{"Task(Explore)", call(t, project, "Task", `{"prompt":"x"}`), false, true},
		{"Skill(deploy)", call(t, project, "Skill", `{"skill":"pdf"}`), true, false}, // allowed without a rule
		{"Skill(deploy)", call(t, project, "Skill", `{"skill":"deploy"}`), true, true},
		{"mcp__a__b(x)", call(t, project, "mcp__a__b", `{}`), false, true},
		{"*(x)", call(t, project, "mcp__a__b", `{}`), false, true},
	} {
		if got := Judge(c.call, set(t, Allow, c.rule), nil); (got.Decision == verdict.Allow) != c.allows {
			t.Errorf("allow %s: %v is %v (%s)", c.rule, c.call.Input, got.Decision, got.Reason)
		}
		s := set(t, Deny, c.rule)
		s.Mode = "unrestricted"
		if got := Judge(c.call, s, nil); (got.Decision == verdict.Deny) != c.denies {
			t.Errorf("deny %s: %v is %v (%s)", c.rule, c.call.Input, got.Decision, got.Reason)
		}
	}
}

// A rule that allows a command speaks of the workspace, and of the environment and the
// shell that the harness gives.
func TestWhereAllowedCommandsRun(t *testing.T) {
	dir := tree(t)
	for _, c := range []struct {
		rule, input string
		want        verdict.Decision
	}{
		{"Bash(make:*)", `{"command":"make all"}`, verdict.Allow},
		{"Bash(make:*)", `{"command":"make all","workdir":"sub"}`, verdict.Allow},
		{"Bash(make:*)", `{"command":"make all","workdir":"","env":null}`, verdict.Allow},
		{"Bash(make:*)", `{"command":"make all","workdir":"/tmp"}`, verdict.Ask},
		{"Bash(make all)", `{"command":"make all","cwd":".."}`, verdict.Ask},
		{"Bash(make:*)", `{"command":"make all","directory":"sub/../../link"}`, verdict.Ask},
		{"Bash(make:*)", `{"command":"make all","workdir":"sub","cwd":"/tmp"}`, verdict.Ask},
		{"Bash(make:*)", `{"command":"make all","env":{"MAKEFLAGS":"-f/tmp/x"}}`, verdict.Ask},
		{"Bash(make:*)", `{"command":"make all","shell":"/tmp/sh"}`, verdict.Ask},
		{"Bash", `{"command":"make all","workdir":"/tmp"}`, verdict.Allow},
	} {
		s := set(t, Allow, c.rule)
		s.Facts = readonly.Host{}
		if got := Judge(call(t, dir+"/proj", "Bash", c.input), s, nil); got.Decision != c.want {
			t.Errorf("allow %s: %s is %v (%s), want %v", c.rule, c.input, got.Decision, got.Reason, c.want)
		}
	}
}
