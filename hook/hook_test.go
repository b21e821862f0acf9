package hook_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/hook"
	"github.com/letta-confine/letta-confine/verdict"
)

type documented struct {
	Exit   int             `json:"exit"`
	Stdout json.RawMessage `json:"stdout"`
	Stderr string          `json:"stderr"`
}

// documentedAs returns what testdata/hooks.json has at a path of names.
func documentedAs(t *testing.T, path ...string) json.RawMessage {
	t.Helper()
	raw, err := os.ReadFile("testdata/hooks.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range path {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(raw, &m); err != nil || m[name] == nil {
			t.Fatalf("testdata/hooks.json has no %q: %v", path, err)
		}
		raw = m[name]
	}
	return raw
}

func parsed(t *testing.T, raw []byte, protocol string) hook.Event {
	t.Helper()
	e, err := hook.Parse(raw, protocol)
	if err != nil {
		t.Fatalf("Parse(%s) = %v", raw, err)
	}
	return e
}

// with returns an object with further names.
func with(t *testing.T, object json.RawMessage, more string) []byte {
	t.Helper()
	m := map[string]json.RawMessage{}
	for _, raw := range [][]byte{object, []byte(more)} {
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func opinion(d verdict.Decision, reason string) hook.Opinion {
	return hook.Opinion{Verdict: &verdict.Verdict{Decision: d, Reason: reason}}
}

// Every answer is, byte for byte, the one that the harness documents.
func TestAnswers(t *testing.T) {
	none := hook.Opinion{}
	allow := opinion(verdict.Allow, "read-only")
	rewrite := func(command string) hook.Opinion {
		return hook.Opinion{Change: map[string]json.RawMessage{"command": []byte(strconv.Quote(command))}}
	}
	for _, c := range []struct {
		harness, protocol, event, answer string
		opinion                          hook.Opinion
	}{
		{"claude-code", hook.Claude, "", "allow", allow},
		{"claude-code", hook.Claude, "", "ask", opinion(verdict.Ask, "touch: not on the read-only list")},
		{"claude-code", hook.Claude, "", "deny", opinion(verdict.Deny, "rule Bash(rm *)")},
		{"claude-code", hook.Claude, "", "no_opinion", none},
		{"letta-code", hook.Letta, "", "allow_or_no_opinion", allow},
		{"letta-code", hook.Letta, "", "allow_or_no_opinion", none},
		{"letta-code", hook.Letta, "", "allow_or_no_opinion", opinion(verdict.Ask, "passed on")},
		{"letta-code", hook.Letta, "", "deny", opinion(verdict.Deny, "reason shown to the model")},
		{"letta-code", hook.Letta, "", "rewrite", rewrite("letta-confine --profile cross-agent -- bash -c 'ls & touch x'")},
		{"letta-code", hook.Letta, "PermissionRequest", "allow", allow},
		{"letta-code", hook.Letta, "PermissionRequest", "deny", opinion(verdict.Deny, "reason")},
		{"letta-code", hook.Letta, "PermissionRequest", "ask", opinion(verdict.Ask, "why")},
		{"letta-code", hook.Letta, "PermissionRequest", "ask", none},
		{"codex", hook.Codex, "", "allow_or_no_opinion", allow},
		{"codex", hook.Codex, "", "allow_or_no_opinion", none},
		{"codex", hook.Codex, "", "allow_or_no_opinion", opinion(verdict.Ask, "passed on")},
		{"codex", hook.Codex, "", "deny", opinion(verdict.Deny, "must not be empty")},
		{"codex", hook.Codex, "", "rewrite", rewrite("letta-confine --profile cross-agent -- bash -lc '...'")},
		{"codex", hook.Codex, "PermissionRequest", "allow", allow},
		{"codex", hook.Codex, "PermissionRequest", "deny", opinion(verdict.Deny, "why")},
		{"codex", hook.Codex, "PermissionRequest", "ask", opinion(verdict.Ask, "why")},
		{"codex", hook.Codex, "PermissionRequest", "ask", none},
		{"gemini-cli", hook.Gemini, "", "allow_or_no_opinion", allow},
		{"gemini-cli", hook.Gemini, "", "allow_or_no_opinion", none},
		{"gemini-cli", hook.Gemini, "", "ask", opinion(verdict.Ask, "why")},
		{"gemini-cli", hook.Gemini, "", "deny", opinion(verdict.Deny, "why")},
		{"gemini-cli", hook.Gemini, "", "rewrite", rewrite("letta-confine -- bash -c '...'")},
		{"cursor", hook.Cursor, "", "allow", allow},
		{"cursor", hook.Cursor, "", "allow", none},
		{"cursor", hook.Cursor, "", "ask", opinion(verdict.Ask, "why")},
		{"cursor", hook.Cursor, "", "deny", opinion(verdict.Deny, "why")},
		{"cursor", hook.Cursor, "preToolUse", "rewrite", rewrite("...")},
	} {
		t.Run(c.protocol+" "+c.event+" "+c.answer, func(t *testing.T) {
			stdin, path := documentedAs(t, c.harness, "stdin"), []string{c.harness, c.answer}
			switch {
			case c.event == "preToolUse":
				stdin = with(t, stdin, `{"hook_event_name": "preToolUse", "tool_name": "Shell", "tool_input": {"command": "ls"}}`)
			case c.event != "":
				path = []string{c.harness, c.event, c.answer}
				stdin = with(t, stdin, `{"hook_event_name": "PermissionRequest", "event_type": "PermissionRequest"}`)
				if c.protocol != hook.Letta {
					stdin = with(t, documentedAs(t, c.harness, "stdin"), `{"hook_event_name": "PermissionRequest"}`)
				}
			}
			var want documented
			if err := json.Unmarshal(documentedAs(t, path...), &want); err != nil {
				t.Fatal(err)
			}
			e := parsed(t, stdin, "")
			if e.Protocol != c.protocol {
				t.Fatalf("Parse finds protocol %s", e.Protocol)
			}
			a := e.Answer(c.opinion)
			if got := string(a.Stdout); got != line(t, want.Stdout) {
				t.Errorf("stdout is %q, want %q", got, line(t, want.Stdout))
			}
			if a.Status != want.Exit || a.Stderr != want.Stderr {
				t.Errorf("status %d, stderr %q, want %d, %q", a.Status, a.Stderr, want.Exit, want.Stderr)
			}
		})
	}
}

// line is an object on one line, or nothing.
func line(t *testing.T, raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == `""` {
		return ""
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		t.Fatal(err)
	}
	return out.String() + "\n"
}

// Where an event cannot ask, asking is denied if that is what is wanted; an event
// that can ask is not touched.
func TestDenyAsk(t *testing.T) {
	for harness, want := range map[string]string{
		"claude-code": `"ask"`, "gemini-cli": `"ask"`, "cursor": `"ask"`, "codex": `"deny"`, "letta-code": "",
	} {
		e := parsed(t, documentedAs(t, harness, "stdin"), "")
		o := opinion(verdict.Ask, "why")
		o.DenyAsk = true
		a := e.Answer(o)
		if !strings.Contains(string(a.Stdout), want) || want == "" && (a.Status != 2 || a.Stderr == "") {
			t.Errorf("%s: %q, %d", harness, a.Stdout, a.Status)
		}
	}
	read := parsed(t, []byte(`{"cursor_version":"2","hook_event_name":"beforeReadFile","file_path":"/x","content":"text"}`), "")
	o := opinion(verdict.Ask, "why")
	o.DenyAsk = true
	if a := read.Answer(o); !strings.Contains(string(a.Stdout), `"deny"`) || read.Tool != "Read" || string(read.Input) != `{"file_path":"/x"}` {
		t.Errorf("beforeReadFile: %s for %s %s", a.Stdout, read.Tool, read.Input)
	}
}

// A denial is one whatever else is said, and changes nothing.
func TestDenialHasNoChange(t *testing.T) {
	for _, harness := range []string{"claude-code", "letta-code", "codex", "gemini-cli", "cursor"} {
		e := parsed(t, documentedAs(t, harness, "stdin"), "")
		o := opinion(verdict.Deny, "why")
		o.Change = map[string]json.RawMessage{"command": []byte(`"x"`)}
		if a := e.Answer(o); strings.Contains(string(a.Stdout), "nput") {
			t.Errorf("%s: %s", harness, a.Stdout)
		}
	}
}

func TestParse(t *testing.T) {
	e := parsed(t, documentedAs(t, "letta-code", "stdin"), "")
	if e.Cwd != "/w/proj" || e.Tool != "Bash" || e.Attended {
		t.Errorf("letta-code's event is %+v", e)
	}
	if e := parsed(t, documentedAs(t, "codex", "stdin"), ""); !e.Attended {
		t.Errorf("codex's event is %+v", e)
	}
	mcp := parsed(t, []byte(`{"conversation_id":"c","hook_event_name":"beforeMCPExecution","tool_name":"read","tool_input":"{\"path\":\"/x\"}","workspace_roots":["/w"]}`), "")
	if string(mcp.Input) != `{"path":"/x"}` || mcp.Cwd != "/w" {
		t.Errorf("the MCP event is %+v", mcp)
	}
	for _, raw := range []string{
		"", "null", "[]", "{", `{}`, `{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{}}`,
		`{"hook_event_name":"PreToolUse","tool_input":{}}`, `{"hook_event_name":"PreToolUse","tool_name":"Bash"}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":"ls"}`,
		`{"hook_event_name":"PreToolUse","tool_name":7,"tool_input":{}}`,
		`{"event_type":"Stop","tool_name":"Bash","tool_input":{}}`,
		`{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{}}`, // of Claude Code: no such answer
		`{"conversation_id":"c","hook_event_name":"beforeMCPExecution","tool_name":"x","tool_input":"[]"}`,
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"cat \xff\"}}", // not the byte that was meant
		// A name that is there twice, and one that is missing.
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm x","command":"ls"}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"edits":[{"path":"/x","path":"/y"}]}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm x"},"Tool_Input":{"command":"ls"}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_name":"Read","tool_input":{"command":"rm x"}}`,
		`{"conversation_id":"c","hook_event_name":"beforeMCPExecution","tool_name":"x","tool_input":"{\"path\":\"/x\",\"path\":\"/y\"}"}`,
		`{"conversation_id":"c","hook_event_name":"beforeReadFile","workspace_roots":["/w"]}`,
		`{"conversation_id":"c","hook_event_name":"beforeReadFile","file_path":["/x"],"workspace_roots":["/w"]}`,
	} {
		if e, err := hook.Parse([]byte(raw), ""); err == nil {
			t.Errorf("Parse(%s) = %+v", raw, e)
		}
	}
	if _, err := hook.Parse(documentedAs(t, "claude-code", "stdin"), hook.Gemini); err == nil {
		t.Error("Parse takes an event of Claude Code's for one of Gemini's")
	}
}

func TestPolls(t *testing.T) {
	for _, c := range []struct {
		tool, input string
		want        bool
	}{
		{"write_stdin", `{"session_id":1,"chars":"","yield_time_ms":1000}`, true},
		{"WriteStdin", `{"session_id":1}`, true},
		{"write_stdin", `{"session_id":1,"chars":"rm x\n"}`, false},
		{"write_stdin", `{"session_id":1,"Chars":"rm x\n"}`, false},
		{"write_stdin", `{"session_id":1,"chars":"","CHARS":"rm x\n"}`, false},
		{"write_stdin", `{"session_id":1,"chars":"rm x\n","Chars":""}`, false},
		{"write_stdin", `{"session_id":1,"chars":["rm x"]}`, false},
		{"write_stdin", `{"session_id":1,"input":"rm x"}`, false},
		{"write_stdin", `{"command":"rm x"}`, false},
		{"exec_command", `{"session_id":1}`, false},
	} {
		if got := (hook.Event{Tool: c.tool, Input: []byte(c.input)}).Polls(); got != c.want {
			t.Errorf("%s %s polls: %v, want %v", c.tool, c.input, got, c.want)
		}
	}
}

func TestEscalates(t *testing.T) {
	for input, want := range map[string]bool{
		`{"command":"ls"}`: false,
		`{"command":"ls","sandbox_permissions":"require_escalated"}`: true,
		`{"command":"ls","justification":"because"}`:                 true,
		`{"a":[{"Justification":"because"}]}`:                        true,
		`{"justification":["because"]}`:                              true,
		`{"dangerouslyDisableSandbox":"false"}`:                      true, // a harness may take any text for true
		`{"dangerouslyDisableSandbox":false,"justification":null}`:   false,
		`{"sandbox_permissions":"use_default","justification":""}`:   false,
		`{"command":"ls","dangerouslyDisableSandbox":true}`:          true,
		`{"command":"justification"}`:                                false,
	} {
		if got := (hook.Event{Input: []byte(input)}).Escalates(); got != want {
			t.Errorf("Escalates(%s) = %v", input, got)
		}
	}
}

var wrapper = hook.Wrapper{Prefix: []string{"letta-confine", "--profile", "cross-agent", "--"}}

// Wrapping is idempotent, and only what wrapping gave is taken for wrapped.
func TestWrapper(t *testing.T) {
	const prefix = "letta-confine --profile cross-agent -- "
	for _, command := range []string{
		"ls", "ls & touch x", "echo 'a b' \"$HOME\" `date`", "it's", "a\n\tb\n", "", "cat <<E\nx\nE\n", "é ü", "x='1'\n",
		"letta-confine version; touch x", prefix + "bash -c x; touch y", prefix + "bash -c x y", prefix + "sh -c x",
		"letta-confine -- bash -c x", prefix + `bash -c "x"`, "X=1 " + prefix + "bash -c x", prefix + "bash -c x >y",
	} {
		change := changed(t, hook.Claude, map[string]any{"command": command})
		var once string
		if err := json.Unmarshal(change["command"], &once); err != nil {
			t.Fatalf("%q: %v", command, err)
		}
		if !strings.HasPrefix(once, prefix+"bash -c ") {
			t.Errorf("%q became %q", command, once)
		}
		if again := changed(t, hook.Claude, map[string]any{"command": once}); len(again) != 0 {
			t.Errorf("%q became %s", once, again["command"])
		}
		e := event(t, hook.Claude, map[string]any{"command": once})
		if inner, err := wrapper.Commands(e); err != nil || !slices.Equal(inner, []string{command}) {
			t.Errorf("Commands(%q) = %q, %v", once, inner, err)
		}
	}
}

func TestWrapperOfOtherShapes(t *testing.T) {
	if c := changed(t, hook.Codex, map[string]any{"cmd": "ls"}); string(c["cmd"]) != `"letta-confine --profile cross-agent -- bash -lc ls"` {
		t.Errorf("cmd became %s", c["cmd"])
	}
	words := []string{"bash", "-lc", "ls & x"}
	c := changed(t, hook.Codex, map[string]any{"command": words})
	if string(c["command"]) != `["letta-confine","--profile","cross-agent","--","bash","-lc","ls & x"]` {
		t.Errorf("a list became %s", c["command"])
	}
	again := changed(t, hook.Codex, map[string]any{"command": c["command"]})
	if len(again) != 0 {
		t.Errorf("a wrapped list became %s", again["command"])
	}
	got, err := wrapper.Commands(event(t, hook.Codex, map[string]any{"command": c["command"]}))
	if err != nil || !slices.Equal(got, []string{"bash -lc 'ls & x'"}) {
		t.Errorf("Commands of a list = %q, %v", got, err)
	}
	for _, input := range []map[string]any{{}, {"command": 7}, {"command": []string{}}, {"command": nil}, {"command": map[string]any{}}} {
		if _, err := wrapper.Change(event(t, hook.Claude, input)); err == nil {
			t.Errorf("Change(%v) = nil", input)
		}
	}
	for _, command := range []string{"a\x00b", "a\u200bb", "a\x1bb"} {
		if c, err := wrapper.Change(event(t, hook.Claude, map[string]any{"command": command})); err == nil {
			t.Errorf("Change(%q) = %s", command, c["command"])
		}
	}
}

func event(t *testing.T, protocol string, input map[string]any) hook.Event {
	t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return hook.Event{Protocol: protocol, Name: "PreToolUse", Tool: "Bash", Input: raw}
}

func changed(t *testing.T, protocol string, input map[string]any) map[string]json.RawMessage {
	t.Helper()
	c, err := wrapper.Change(event(t, protocol, input))
	if err != nil {
		t.Fatalf("%v: %v", input, err)
	}
	return c
}
