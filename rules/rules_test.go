package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/shell/readonly"
	"github.com/letta-confine/letta-confine/verdict"
)

// rows reads a table: tabs between cells, the first line names them.
func rows(t testing.TB, name string) []map[string]string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	head := strings.Split(lines[0], "\t")
	var out []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, "\t") {
			row[head[i]] = cell
		}
		out = append(out, row)
	}
	return out
}

const home, project = "/Users/test", "/Users/test/project"

func bash(command string) ToolCall {
	return ToolCall{Tool: "Bash", Input: map[string]any{"command": command}, Cwd: project}
}

func file(tool, name string) ToolCall {
	return ToolCall{Tool: tool, Input: map[string]any{"file_path": name}, Cwd: project}
}

func set(t testing.TB, list List, texts ...string) *Set {
	t.Helper()
	s := &Set{Home: home, Facts: readonly.Host{}}
	if err := s.Add(list, project, texts...); err != nil {
		t.Fatal(err)
	}
	return s
}

var gapCase = regexp.MustCompile(`^(?:.*: )?(allow|deny|ask) (\S+\(.*\)) vs (.*)$`)

// Each row of the table is a case where a rule was met, or not, by the look of a
// text.
func TestGaps(t *testing.T) {
	for _, row := range rows(t, "testdata/gaps.tsv") {
		if row["area"] != "rule matching" {
			continue
		}
		t.Run(row["id"], func(t *testing.T) {
			s, call := &Set{Home: home, Facts: readonly.Host{}}, file("Read", "../project2/a")
			if m := gapCase.FindStringSubmatch(row["case"]); m != nil {
				s = set(t, List(m[1]), m[2])
				call = gapCall(t, m[3])
			} else if row["id"] == "ga043" {
				s, call = set(t, Ask, "Bash(cat:*)"), bash("cat a")
			} else if row["id"] != "ga042" {
				t.Fatalf("%q is not understood", row["case"])
			}
			if got := Judge(call, s, nil); got.Decision.String() != row["right_verdict"] {
				t.Errorf("%s: %v (%s), want %s", row["case"], got.Decision, got.Reason, row["right_verdict"])
			}
		})
	}
}

// gapCall reads what a row of the table is about: a command in quotes, or a tool
// and a path.
func gapCall(t *testing.T, text string) ToolCall {
	if end := strings.LastIndex(text, "'"); strings.HasPrefix(text, "'") && end > 0 {
		return bash(text[1:end])
	}
	text, _, _ = strings.Cut(text, " (")
	text = strings.TrimSuffix(strings.ReplaceAll(text, "literal ", ""), " abs")
	text = strings.ReplaceAll(text, " abs ", " ")
	words := strings.Fields(text)
	switch {
	case words[0] == "Bash":
		return bash(strings.Trim(strings.TrimPrefix(text, "Bash "), "'"))
	case words[0] == "apply_patch":
		return ToolCall{Tool: "apply_patch", Input: map[string]any{"input": "*** Begin Patch\n*** Update File: " + words[2] + "\n*** End Patch"}, Cwd: project}
	case len(words) == 1:
		return file("Read", words[0])
	}
	return file(words[0], words[1])
}

// What letta-code's memory agents were let do by the look of the text asks.
func TestGapsOfMemoryShell(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows(t, "testdata/gaps.tsv") {
		if row["area"] != "memory-scoped shell" {
			continue
		}
		var src string
		if err := json.Unmarshal([]byte(row["case"]), &src); err != nil {
			t.Fatal(err)
		}
		got := verdict.Ask
		if s, err := (shell.Options{Vars: map[string]string{"HOME": home}}).Parse(src); err == nil {
			j := &readonly.Judge{Cwd: dir, Home: home, Roots: []string{dir}, Writable: []string{dir}, Facts: readonly.Host{}}
			got = readonly.Whole(s, j.Script(s)).Decision
		}
		if (got == verdict.Allow) != (row["right_verdict"] == "auto-allow") {
			t.Errorf("%s: %q is %v, want %s", row["id"], src, got, row["right_verdict"])
		}
	}
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name string
		list List
		rule string
		call ToolCall
		want verdict.Decision
	}{
		{"a rule is met within a substitution", Deny, "Bash(rm:*)", bash("echo $(rm x)"), verdict.Deny},
		{"and by sh -c", Deny, "Bash(rm:*)", bash(`bash -c 'cd a && rm x'`), verdict.Deny},
		{"and by env -S", Deny, "Bash(rm:*)", bash(`env -S 'rm x'`), verdict.Deny},
		{"and by xargs", Deny, "Bash(rm:*)", bash("ls | xargs -0 rm -f"), verdict.Deny},
		{"and by find", Deny, "Bash(rm:*)", bash(`find . -exec rm {} +`), verdict.Deny},
		{"and in a function", Deny, "Bash(rm:*)", bash("f() { rm x; }; f"), verdict.Deny},
		{"and in a loop in the background", Deny, "Bash(rm:*)", bash("while true; do rm x & done"), verdict.Deny},
		{"and in what cannot be read", Deny, "Bash(rm:*)", bash("rm x; ("), verdict.Deny},
		{"and in a here-document for a shell", Deny, "Bash(rm:*)", bash("sh <<'E'\nrm x\nE"), verdict.Deny},
		{"and by eval", Deny, "Bash(rm:*)", bash("eval 'rm x'"), verdict.Deny},
		{"global options are passed over", Deny, "Bash(git push:*)", bash("git -C /x -c a=b --no-pager push"), verdict.Deny},
		{"a word that is not known asks", Deny, "Bash(rm:*)", bash("$X y"), verdict.Ask},
		{"and asks though all is allowed", Deny, "Bash(rm:*)", bash("$(echo rm) y"), verdict.Ask},
		{"an allow rule is about every command", Allow, "Bash(npm test:*)", bash("npm test & npm publish"), verdict.Ask},
		{"it is met with wrappers", Allow, "Bash(npm test:*)", bash("timeout 60 npm test -- -x 2>&1 | tail -5"), verdict.Allow},
		{"a word that is not known is no command", Allow, "Bash(npm test:*)", bash("npm $X"), verdict.Ask},
		{"a colon goes on", Allow, "Bash(npm run test:*)", bash("npm run test:unit"), verdict.Allow},
		{"a hyphen does not", Allow, "Bash(npm run test:*)", bash("npm run test-deploy"), verdict.Ask},
		{"cd must stay", Allow, "Bash(npm test:*)", bash("cd / && npm test"), verdict.Ask},
		{"what follows a cd that is allowed is elsewhere", Allow, "Bash(cd:*)", bash("cd / && cat etc/passwd"), verdict.Ask},
		{"a variable counts", Allow, "Bash(npm test:*)", bash("NODE_OPTIONS=--require=./x npm test"), verdict.Ask},
		{"a harmless one does not", Allow, "Bash(npm test:*)", bash("LC_ALL=C npm test"), verdict.Allow},
		{"a definition counts", Allow, "Bash(npm test:*)", bash("npm() { sh; }; npm test"), verdict.Ask},
		{"a wildcard in a word", Allow, "Bash(npm run build-*)", bash("npm run build-x"), verdict.Allow},
		{"what find runs is a command of its own", Allow, "Bash(find:*)", bash(`find . -name x -exec rm {} \;`), verdict.Ask},
		{"and what xargs runs", Allow, "Bash(xargs:*)", bash("ls | xargs rm"), verdict.Ask},
		{"and where it is not known", Allow, "Bash(xargs:*)", bash("ls | xargs $X"), verdict.Ask},
		{"but where a rule names it", Allow, "Bash(find . -exec rm:*)", bash(`find . -exec rm {} \;`), verdict.Allow},
		{"or is about all of it", Allow, `Bash(find . -exec rm {} \;)`, bash(`find . -exec rm {} \;`), verdict.Allow},
		{"or it only reads", Allow, "Bash(find:*)", bash(`find . -newer x -fprint log -exec ls {} \;`), verdict.Allow},
		{"an exact rule", Allow, "Bash(make test)", bash("make test install"), verdict.Ask},
		{"a Read rule is about operands", Deny, "Read(.env)", bash("cat ./.env"), verdict.Deny},
		{"and of commands that are not known", Deny, "Read(.env)", bash("mytool --file=.env"), verdict.Deny},
		{"and about <", Deny, "Read(.env)", bash("wc -l <.env"), verdict.Deny},
		{"and after cd", Deny, "Read(secrets/key)", bash("cd secrets && cat key"), verdict.Deny},
		{"and in scripts", Deny, "Read(.env)", bash(`sh -c 'cat .env'`), verdict.Deny},
		{"an Edit rule is about other writers", Deny, "Edit(.env)", bash("tee .env"), verdict.Deny},
		{"and about moves", Deny, "Edit(.env)", bash("mv x .env"), verdict.Deny},
		{"a directory that is denied", Deny, "Read(secrets)", file("Read", "secrets/x"), verdict.Deny},
		{"with a detour", Deny, "Read(secrets/**)", file("Read", "src/../secrets/x"), verdict.Deny},
		{"an allow rule is not met by a detour", Allow, "Edit(src/**)", file("Edit", "src/../.env"), verdict.Ask},
		{"other searches", Deny, "Read(secrets/**)", ToolCall{Tool: "Grep", Input: map[string]any{"pattern": "x", "path": "secrets"}, Cwd: project}, verdict.Deny},
		{"an array of paths", Deny, "Read(.env)", ToolCall{Tool: "read_many_files", Input: map[string]any{"paths": []any{"a", ".env"}}, Cwd: project}, verdict.Deny},
		{"an escalation is not allowed", Allow, "Bash(make:*)", ToolCall{Tool: "shell", Input: map[string]any{"command": []any{"make"}, "sandbox_permissions": "require_escalated"}, Cwd: project}, verdict.Ask},
		{"a command as a list", Deny, "Bash(rm:*)", ToolCall{Tool: "shell", Input: map[string]any{"command": []any{"bash", "-lc", "rm x"}}, Cwd: project}, verdict.Deny},
		{"two commands in one call", Allow, "Bash(ls:*)", ToolCall{Tool: "shell", Input: map[string]any{"command": "ls", "cmd": "rm x"}, Cwd: project}, verdict.Ask},
		{"a write with a rule for it", Allow, "Edit(out/**)", bash("echo x > out/a"), verdict.Allow},
		{"an allow rule lets commands read", Allow, "Read(//opt/docs/**)", bash("head -3 /opt/docs/a"), verdict.Allow},
		{"and no more than it says", Allow, "Read(//opt/docs/**)", bash("head -3 /opt/docs/../a"), verdict.Ask},
		{"programs that run others", Deny, "Bash(rm:*)", bash("flock lock rm x"), verdict.Deny},
		{"a path in a value", Deny, "Read(.env)", bash("curl -F f=@.env x"), verdict.Deny},
		{"a path after a cd that may fail", Deny, "Read(.env)", bash("cd sub; cat ../.env"), verdict.Deny},
		{"a server's tools", Deny, "mcp__x__*", ToolCall{Tool: "mcp__x__y", Cwd: project}, verdict.Deny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Judge(tt.call, set(t, tt.list, tt.rule), nil); got.Decision != tt.want {
				t.Errorf("%s %s: %v is %v (%s), want %v", tt.list, tt.rule, tt.call.Input, got.Decision, got.Reason, tt.want)
			}
		})
	}
}

// A shell call whose command cannot be told is no way past a deny rule, whatever the
// mode allows.
func TestCommandThatCannotBeTold(t *testing.T) {
	for _, input := range []map[string]any{
		{"command": "ls", "cmd": "rm x"},
		{"command": []any{"rm", 1.0}},
		{"script": "rm x"},
		nil,
		{"command": "r''m .e''nv\x00"},
		{"command": "r''m .e''nv '"},
	} {
		for _, rule := range []string{"Bash(rm:*)", "Read(.env)", "Edit(.env)"} {
			s := set(t, Deny, rule)
			if err := s.SetMode("unrestricted"); err != nil {
				t.Fatal(err)
			}
			if got := Judge(ToolCall{Tool: "Bash", Input: input, Cwd: project}, s, nil); got.Decision == verdict.Allow {
				t.Errorf("%s, %v: %+v, want no allow", rule, input, got.Verdict)
			}
		}
	}
}

// What a deny rule may be met by is not allowed by any mode, and what has nothing to
// do with it is.
func TestWhatHidesFromDenyRules(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".env", "a.txt", "keys/key", "[x]/.env"} {
		if err := os.MkdirAll(filepath.Dir(dir+"/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &Set{Home: home, Facts: readonly.Host{}, Mode: "unrestricted"}
	if err := s.Add(Deny, dir, "Bash(rm:*)", "Bash(git push:*)", "Read(.env)", "Edit(.env)", "Read(keys/**)"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]func(verdict.Decision) bool{
		"testdata/hidden.txt": func(d verdict.Decision) bool { return d != verdict.Allow },
		"testdata/plain.txt":  func(d verdict.Decision) bool { return d == verdict.Allow },
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if v := Judge(ToolCall{Tool: "Bash", Input: map[string]any{"command": line}, Cwd: dir}, s, nil); !want(v.Decision) {
				t.Errorf("%s: %q: %v (%s)", file, line, v.Decision, v.Reason)
			}
		}
	}
	for _, call := range []ToolCall{
		{Tool: "Bash", Input: map[string]any{"command": "cat key", "workdir": dir + "/keys"}, Cwd: dir},
		{Tool: "Bash", Input: map[string]any{"command": "cp key x", "workdir": "keys"}, Cwd: dir},
		{Tool: "Bash", Input: map[string]any{"command": "python3 x.py .e*"}, Cwd: dir + "/[x]"},
		{Tool: "run_terminal_cmd", Input: map[string]any{"command": "rm x"}, Cwd: dir},
		{Tool: "BASH", Input: map[string]any{"command": "cat .env"}, Cwd: dir},
		{Tool: "view", Input: map[string]any{"path": ".env"}, Cwd: dir},
		{Tool: "read-file", Input: map[string]any{"path": ".env"}, Cwd: dir},
		{Tool: "str_replace_editor", Input: map[string]any{"path": ".env"}, Cwd: dir},
		{Tool: "Read", Input: map[string]any{"file_path": "/proc/self/cwd/.env"}, Cwd: dir},
		{Tool: "Read", Input: map[string]any{"file_path": "file:" + dir + "/%2Eenv"}, Cwd: dir},
		{Tool: "Read", Input: map[string]any{"file_path": "FILE://localhost" + dir + "/.env"}, Cwd: dir},
		{Tool: "Read", Input: map[string]any{"file_path": ".ENV"}, Cwd: dir},
		{Tool: "Grep", Input: map[string]any{"pattern": "x", "glob": ".env"}, Cwd: dir},
		{Tool: "Grep", Input: map[string]any{"pattern": "x", "glob": "**/.e*", "path": "."}, Cwd: dir},
		{Tool: "read_many_files", Input: map[string]any{"paths": []any{".e*"}}, Cwd: dir},
		{Tool: "apply_patch", Input: map[string]any{"input": "*** Begin Patch\n***  update file:.env\n*** End Patch\n"}, Cwd: dir},
	} {
		if v := Judge(call, s, nil); v.Decision != verdict.Deny {
			t.Errorf("%v: %v (%s)", call, v.Decision, v.Reason)
		}
	}
	for _, call := range []ToolCall{
		{Tool: "Grep", Input: map[string]any{"pattern": "x", "glob": "*.txt"}, Cwd: dir},
		{Tool: "Grep", Input: map[string]any{"pattern": ".env"}, Cwd: dir},
		{Tool: "read_many_files", Input: map[string]any{"paths": []any{"src/**/*.go"}}, Cwd: dir},
		{Tool: "view", Input: map[string]any{"path": "a.txt"}, Cwd: dir},
	} {
		if v := Judge(call, s, nil); v.Decision != verdict.Allow {
			t.Errorf("%v: %v (%s)", call, v.Decision, v.Reason)
		}
	}
}

func TestOrder(t *testing.T) {
	s := set(t, Allow, "Bash(git push:*)", "Bash(cat:*)")
	if err := s.Add(Ask, project, "Bash(git push:*)"); err != nil {
		t.Fatal(err)
	}
	if got := Judge(bash("git push"), s, nil); got.Code != "ask-rule" {
		t.Errorf("an ask rule against an allow rule: %+v, want the ask rule", got.Verdict)
	}
	s.LettaAsk = true
	if got := Judge(bash("git push"), s, nil); got.Code != "allow-rule" {
		t.Errorf("in letta-code's order: %+v, want the allow rule", got.Verdict)
	}
	if err := s.Add(Deny, project, "Bash(git push:*)"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetMode("unrestricted"); err != nil {
		t.Fatal(err)
	}
	if got := Judge(bash("git push"), s, nil); got.Decision != verdict.Deny {
		t.Errorf("a deny rule in unrestricted mode: %+v, want deny", got.Verdict)
	}
	guard := func(ToolCall) (verdict.Verdict, bool) {
		return verdict.Verdict{Decision: verdict.Deny, Code: "guard"}, true
	}
	if got := Judge(bash("cat a"), s, []Guard{guard}); got.Code != "guard" {
		t.Errorf("a guard: %+v, want its answer", got.Verdict)
	}
}

// The link and its target are both looked at: either meets a deny rule, both must
// meet an allow rule.
func TestLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"open", "shut"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"open/in": "../shut/x", "shut/out": "../open/x", "gate": "shut"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := &Set{Facts: readonly.Host{}}
	if err := s.Add(Deny, dir, "Read(shut/**)"); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(Allow, dir, "Edit(open/**)"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"open/in", "shut/out", "gate/x"} {
		c := file("Read", name)
		if c.Cwd = dir; Judge(c, s, nil).Decision != verdict.Deny {
			t.Errorf("Read %s is not denied", name)
		}
	}
	c := file("Edit", "open/in")
	if c.Cwd = dir; Judge(c, s, nil).Decision == verdict.Allow {
		t.Error("Edit open/in is allowed, though it leads elsewhere")
	}
	if c = file("Edit", "open/x"); true {
		if c.Cwd = dir; Judge(c, s, nil).Decision != verdict.Allow {
			t.Error("Edit open/x is not allowed")
		}
	}
}

func TestSettings(t *testing.T) {
	s := &Set{}
	if err := s.AddSettings([]byte(`{"permissions":{"deny":["Read(.env)"],"allow":["Bash(ls:*)"],"defaultMode":"acceptEdits"},"model":"x"}`), project); err != nil {
		t.Fatal(err)
	}
	if len(s.Rules[Deny]) != 1 || len(s.Rules[Allow]) != 1 || s.Mode != "acceptEdits" {
		t.Errorf("the file was read as %+v", s)
	}
	for _, text := range []string{
		`{"permissions":{"deny":["Read(.env"]}}`, `{"permissions":{"deny":"Read"}}`, `{`, `[]`, ``, `{} {}`,
		`{"permissions":{"deny":["Read"],"deny":[]}}`, `{"permissions":{"deny":["Read"],"Deny":[]}}`, `{"permissions":{"mode":"banana"}}`,
	} {
		if err := (&Set{}).AddSettings([]byte(text), project); err == nil {
			t.Errorf("AddSettings(%s) is accepted", text)
		}
	}
	if err := s.AddList(Deny, project, "Bash(a, b:*), Read(x),WebFetch"); err != nil || len(s.Rules[Deny]) != 4 {
		t.Errorf("a list gives %v, %v", s.Rules[Deny], err)
	}
	if tools := strings.Join(s.Tools(), " "); strings.Contains(tools, "WebFetch") || !strings.Contains(tools, "Bash") {
		t.Errorf("the deny rules leave %s", tools)
	}
}

func TestClaudeDialect(t *testing.T) {
	s := set(t, Deny, "Read(/x/**)", "Read(.env)", "Read(//etc/**)")
	for name, want := range map[string]bool{project + "/x/a": false, "/x/a": true, "/etc/passwd": true, "sub/.env": false} {
		if got := Judge(file("Read", name), s, nil).Decision == verdict.Deny; got != want {
			t.Errorf("letta's dialect: Read %s is denied: %v, want %v", name, got, want)
		}
	}
	s = &Set{Home: home, Facts: readonly.Host{}, Claude: true}
	if err := s.Add(Deny, project, "Read(/x/**)", "Read(.env)", "Read(//etc/**)"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{project + "/x/a": true, "/x/a": false, "/etc/passwd": true, "sub/.env": true} {
		if got := Judge(file("Read", name), s, nil).Decision == verdict.Deny; got != want {
			t.Errorf("Claude Code's dialect: Read %s is denied: %v, want %v", name, got, want)
		}
	}
}
