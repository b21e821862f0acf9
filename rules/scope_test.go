package rules

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/verdict"
)

func shellTool(tool string) bool {
	return tool == "Bash" || tool == "bash" || tool == "Monitor" || tool == "run_terminal_cmd"
}

func known(tool string) bool { return KnownTool(tool) || shellTool(tool) }

func scope(t *testing.T, text string) Scope {
	t.Helper()
	s, err := ParseScope([]byte(text), known)
	if err != nil {
		t.Fatalf("ParseScope(%s): %v", text, err)
	}
	return s
}

func TestScopes(t *testing.T) {
	for _, c := range []struct {
		name   string
		scopes []string
		there  string
		gone   string
	}{
		{"an allowed tool", []string{`"allow":["Read"]`}, "Read read_file ReadFile READ", "Write Bash mcp__a__b"},
		{"none at all", []string{`"allow":[]`}, "", "Read Bash mcp__a__b"},
		{"a denied tool", []string{`"deny":["WebFetch"]`}, "Read Bash mcp__a__b", "WebFetch web_fetch"},
		{"deny goes before allow", []string{`"allow":["Read","Bash"],"deny":["Bash"]`}, "Read", "Bash"},
		{"whoever denies Bash denies what runs commands", []string{`"deny":["Bash"]`}, "Read", "Bash bash BASH shell run_shell_command Monitor run_terminal_cmd"},
		{"whoever allows Bash allows only that", []string{`"allow":["Bash"]`}, "Bash bash shell_command", "Monitor run_terminal_cmd"},
		{"whoever denies Edit denies its relatives", []string{`"deny":["Edit"]`}, "Read", "Edit EDIT MultiEdit NotebookEdit replace edit_file str_replace_based_edit_tool"},
		{"whoever denies a tool denies its other names", []string{`"deny":["Write","Read","Grep","Glob","ListDir"]`}, "Edit Bash", "create_file view cat ripgrep find_files list_files"},
		{"whoever denies a relative denies Edit", []string{`"deny":["MultiEdit"]`}, "Read", "Edit MultiEdit"},
		{"whoever allows Edit allows only that", []string{`"allow":["Edit"]`}, "Edit", "MultiEdit NotebookEdit"},
		{"scopes intersect", []string{`"allow":["Read","Bash"]`, `"allow":["Read","Grep"]`}, "Read", "Bash Grep"},
		{"in either order", []string{`"allow":["Read","Grep"]`, `"allow":["Read","Bash"]`}, "Read", "Bash Grep"},
		{"an inner scope gives nothing back", []string{`"deny":["Bash"]`, `"allow":["Bash","Read"]`}, "Read", "Bash"},
		{"an outer scope gives nothing back", []string{`"allow":["Bash","Read"]`, `"deny":["Bash"]`}, "Read", "Bash"},
		{"three of them", []string{`"allow":["Read","Grep","Glob"]`, `"deny":["Glob"]`, `"allow":["Read","Glob"]`}, "Read", "Grep Glob"},
		{"MCP tools by a pattern", []string{`"allow":["mcp__git__*"]`}, "mcp__git__log", "mcp__git mcp__gitx__log mcp__other__log Read"},
		{"MCP tools by their server", []string{`"deny":["mcp__git"]`}, "mcp__gitx__log Read", "mcp__git__log mcp__git"},
		{"whoever denies Write denies what moves and removes", []string{`"deny":["Write"]`}, "Read Edit", "Write delete_file Delete move_file"},
		{"web tools at other harnesses", []string{`"deny":["WebFetch"]`, `"deny":["WebSearch"]`}, "Read", "fetch_webpage web_fetch google_web_search"},
		{"MCP tools denied by a pattern", []string{`"deny":["mcp__*__write"]`}, "mcp__a__read Read", "mcp__a__write"},
		{"a star is only a pattern in an MCP tool's name", []string{`"allow":["Read"]`}, "Read", "Rea* *"},
	} {
		t.Run(c.name, func(t *testing.T) {
			has := func(tool string) bool {
				for _, text := range c.scopes {
					if !scope(t, `{"version":1,`+text+`}`).Has(tool, shellTool) {
						return false
					}
				}
				return true
			}
			for tool := range strings.FieldsSeq(c.there) {
				if !has(tool) {
					t.Errorf("%s is gone", tool)
				}
			}
			for tool := range strings.FieldsSeq(c.gone) {
				if has(tool) {
					t.Errorf("%s is there", tool)
				}
			}
		})
	}
}

func TestParseScopeRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", ``, "unexpected EOF"},
		{"no object", `[]`, "want an object"},
		{"no restriction", `{"version":1}`, "restricts nothing"},
		{"an empty list of denied tools", `{"version":1,"deny":[]}`, "restricts nothing"},
		{"no version", `{"deny":["Bash"]}`, "version"},
		{"another version", `{"version":2,"deny":["Bash"]}`, "version"},
		{"a name that is no tool's", `{"version":1,"deny":["Bsah"]}`, `unknown tool "Bsah"`},
		{"one among the allowed", `{"version":1,"allow":["Raed"]}`, `unknown tool "Raed"`},
		{"one of a guard", `{"version":1,"guards":[{"tools":["X"],"pattern":"a"}]}`, `unknown tool "X"`},
		{"an unknown member", `{"version":1,"deny":["Bash"],"dney":["Read"]}`, "dney"},
		{"a member in another case", `{"version":1,"Deny":["Bash"]}`, "Deny"},
		{"a member twice", `{"version":1,"deny":["Bash"],"deny":["Read"]}`, "deny"},
		{"null", `{"version":1,"allow":null,"deny":["Bash"]}`, "null"},
		{"two values", `{"version":1,"deny":["Bash"]} {}`, "more than one value"},
		{"half a value", `{"version":1,"deny":["Bash"]`, "EOF"},
		{"a guard of nothing", `{"version":1,"guards":[{}]}`, "a pattern or a program"},
		{"a guard of both", `{"version":1,"guards":[{"pattern":"a","program":["/b"]}]}`, "a pattern or a program"},
		{"a broken pattern", `{"version":1,"guards":[{"pattern":"("}]}`, "missing closing )"},
		{"a program on the PATH", `{"version":1,"guards":[{"program":["b"]}]}`, "not absolute"},
		{"a time that is none", `{"version":1,"guards":[{"program":["/b"],"timeout":"x"}]}`, "timeout"},
		{"too much time", `{"version":1,"guards":[{"program":["/b"],"timeout":"2m"}]}`, "timeout"},
		{"a reason of a program", `{"version":1,"guards":[{"program":["/b"],"reason":"x"}]}`, "a pattern has a reason"},
	} {
		if _, err := ParseScope([]byte(c.text), known); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
}

func TestPatterns(t *testing.T) {
	guard := scope(t, `{"version":1,"guards":[{"pattern":"git push|secret\\.txt","reason":"not from here"}]}`).Guards[0]
	for _, c := range []struct {
		name string
		call ToolCall
		want verdict.Decision
		met  bool
	}{
		{"the text", bash("git push origin"), verdict.Deny, true},
		{"quoted words", bash(`g"it" 'push'`), verdict.Deny, true},
		{"inside another command", bash(`true; timeout 5 sh -c "git  push"`), verdict.Deny, true},
		{"something else", bash("git pull"), verdict.Allow, false},
		{"what cannot be taken apart", bash("git pull '"), verdict.Ask, true},
		{"a command that a variable names", bash("g=git; $g push"), verdict.Ask, true},
		{"one that another command names", bash("$(echo git) push"), verdict.Ask, true},
		{"one that a pattern of files names", bash("/usr/bin/g?t push"), verdict.Ask, true},
		{"a variable among the words", bash(`ls "$HOME"`), verdict.Allow, false},
		{"words of a tool with another name", ToolCall{Tool: "run_terminal_cmd", Input: map[string]any{"command": `g"it" push`}}, verdict.Deny, true},
		{"a list of words", ToolCall{Tool: "Bash", Input: map[string]any{"command": []any{"sh", "-c", `g"it" push`}}}, verdict.Deny, true},
		{"a shell's input", ToolCall{Tool: "bash", Input: map[string]any{"chars": `g"it" push`}}, verdict.Ask, true},
		{"none of it", ToolCall{Tool: "bash", Input: map[string]any{"session": 7, "chars": ""}}, verdict.Allow, false},
		{"a path", ToolCall{Tool: "Read", Input: map[string]any{"file_path": "a/secret.txt"}}, verdict.Deny, true},
		{"deep in the input", ToolCall{Tool: "X", Input: map[string]any{"a": []any{map[string]any{"b": "secret.txt"}}}}, verdict.Deny, true},
	} {
		v, met := guard.Match(c.call, shellTool(c.call.Tool))
		if met != c.met || met && v.Decision != c.want {
			t.Errorf("%s: Match = %+v, %v, want %v, %v", c.name, v, met, c.want, c.met)
		}
	}
}

// A guard of a tool is asked about what does the same, whatever it is called.
func TestAbout(t *testing.T) {
	guard := scope(t, `{"version":1,"guards":[{"tools":["Bash","Read","mcp__git__*"],"pattern":"a"}]}`).Guards[0]
	for tool, want := range map[string]bool{
		"Bash": true, "bash": true, "BASH": true, "shell": true, "run_terminal_cmd": true, "Monitor": true,
		"Read": true, "read_file": true, "view": true, "mcp__git__log": true, "Write": false, "mcp__other__log": false,
	} {
		if got := guard.About(tool, shellTool); got != want {
			t.Errorf("About(%s) = %v", tool, got)
		}
	}
}

// Guards make an answer stricter, and never milder.
func TestGuarded(t *testing.T) {
	says := func(d verdict.Decision) Guard {
		return func(ToolCall) (verdict.Verdict, bool) { return verdict.Verdict{Decision: d, Code: "guard"}, true }
	}
	silent := func(ToolCall) (verdict.Verdict, bool) { return verdict.Verdict{}, false }
	unasked := func(ToolCall) (verdict.Verdict, bool) {
		t.Error("a guard is asked about what is denied")
		return verdict.Verdict{}, false
	}
	for _, c := range []struct {
		name   string
		was    verdict.Decision
		guards []Guard
		want   verdict.Decision
	}{
		{"none", verdict.Allow, nil, verdict.Allow},
		{"silence", verdict.Ask, []Guard{silent}, verdict.Ask},
		{"a guard cannot allow", verdict.Ask, []Guard{says(verdict.Allow)}, verdict.Ask},
		{"a guard cannot allow what is denied", verdict.Deny, []Guard{unasked}, verdict.Deny},
		{"any objection denies", verdict.Allow, []Guard{silent, says(verdict.Deny), silent}, verdict.Deny},
		{"and is not taken back", verdict.Allow, []Guard{says(verdict.Deny), unasked}, verdict.Deny},
		{"a doubt asks", verdict.Allow, []Guard{says(verdict.Ask), says(verdict.Allow)}, verdict.Ask},
	} {
		if got := Guarded(verdict.Verdict{Decision: c.was}, ToolCall{}, c.guards); got.Decision != c.want {
			t.Errorf("%s: %v, want %v", c.name, got.Decision, c.want)
		}
	}
}
