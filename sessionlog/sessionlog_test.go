package sessionlog

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const (
	mode    = `{"schema":1,"event":"sandbox/mode","mode":"%s"}` + "\n"
	policy  = `{"schema":1,"event":"approval/policy","policy":"%s"}` + "\n"
	preset  = `{"schema":1,"event":"permission/preset","preset":"%s"}` + "\n"
	asked   = `{"schema":1,"event":"approval/asked","id":"%s","toolName":"make"}` + "\n"
	decided = `{"schema":1,"event":"approval/decided","id":"%s","outcome":"rejected"}` + "\n"
)

func TestParse(t *testing.T) {
	danger := fmt.Sprintf(mode, "danger-full-access")
	narrow := fmt.Sprintf(mode, "read-only")
	a, b := fmt.Sprintf(asked, "a"), fmt.Sprintf(asked, "b")
	for _, c := range []struct {
		name, text string
		mode       string // "error" for one
		open       string
	}{
		{"nothing", "", "", ""},
		{"one mode", narrow, "read-only", ""},
		{"the last counts", danger + narrow, "read-only", ""},
		{"the last counts, also a wider one", narrow + danger, "danger-full-access", ""},
		{"other events change no mode", narrow + fmt.Sprintf(preset, "danger-full-access") + fmt.Sprintf(policy, "ask"), "read-only", ""},
		{"a pair", a + fmt.Sprintf(decided, "a"), "", ""},
		{"two pairs at once", a + b + fmt.Sprintf(decided, "a") + fmt.Sprintf(decided, "b"), "", ""},
		{"an open pair", narrow + a, "read-only", "a"},
		{"one of two is open", a + b + fmt.Sprintf(decided, "a"), "", "b"},
		{"blanks in a line", `{"schema": 1, "event": "sandbox/mode", "mode": "read-only"}` + "\n", "read-only", ""},

		{"a torn question", narrow + strings.TrimSuffix(a, "}\n"), "read-only", ""},
		{"a torn question's last byte", narrow + strings.TrimSuffix(a, "\n"), "read-only", ""},
		{"a torn outcome", narrow + a + `{"schema":1,"event":"approval/decided","id":"a","outc`, "read-only", "a"},
		{"a torn mode", danger + strings.TrimSuffix(narrow, "\n"), "error", ""},
		{"a torn word", danger + `{"schema":1,"event":"sandbox/m`, "error", ""},
		{"a torn beginning", danger + `{"schema":1,"event":"approval/ask`, "error", ""},
		{"a torn brace", danger + "{", "error", ""},
		{"a torn line that others follow", strings.TrimSuffix(a, "}\n") + narrow, "error", ""},
		{"a torn line that is too long", `{"schema":1,"event":"approval/asked",` + strings.Repeat(" ", MaxLine), "error", ""},

		{"an empty line", narrow + "\n", "error", ""},
		{"a NUL", narrow + "\x00\n", "error", ""},
		{"zeros at the end", narrow + "\x00\x00", "error", ""},
		{"another schema", strings.Replace(narrow, "1", "2", 1), "error", ""},
		{"no schema", `{"event":"sandbox/mode","mode":"read-only"}` + "\n", "error", ""},
		{"a schema that is a text is one too", strings.Replace(narrow, ":1,", `:"1",`, 1), "read-only", ""},
		{"an unknown event", narrow + `{"schema":1,"event":"sandbox/other"}` + "\n", "error", ""},
		{"an event of another case", strings.Replace(danger, "sandbox/mode", "Sandbox/Mode", 1), "error", ""},
		{"an unknown mode", fmt.Sprintf(mode, "full"), "error", ""},
		{"an empty mode", fmt.Sprintf(mode, ""), "error", ""},
		{"a mode of another case", fmt.Sprintf(mode, "Read-Only"), "error", ""},
		{"no mode", `{"schema":1,"event":"sandbox/mode"}` + "\n", "error", ""},
		{"two modes", `{"schema":1,"event":"sandbox/mode","mode":"read-only","mode":"danger-full-access"}` + "\n", "error", ""},
		{"a member too many", `{"schema":1,"event":"sandbox/mode","mode":"read-only","id":"a"}` + "\n", "error", ""},
		{"an unknown policy", fmt.Sprintf(policy, "always"), "error", ""},
		{"the preset custom", fmt.Sprintf(preset, "custom"), "error", ""},
		{"asked twice", a + a, "error", ""},
		{"asked again", a + fmt.Sprintf(decided, "a") + a, "error", ""},
		{"decided and not asked", fmt.Sprintf(decided, "a"), "error", ""},
		{"decided twice", a + fmt.Sprintf(decided, "a") + fmt.Sprintf(decided, "a"), "error", ""},
		{"an unknown outcome", a + `{"schema":1,"event":"approval/decided","id":"a","outcome":"allowed-always"}` + "\n", "error", ""},
		{"a line that is too long", fmt.Sprintf(asked, strings.Repeat("a", MaxLine)), "error", ""},
		{"two objects in a line", strings.TrimSpace(narrow) + danger, "error", ""},
		{"a list", "[]\n", "error", ""},
		{"not UTF-8", fmt.Sprintf(asked, "\xff"), "error", ""},
		{"a carriage return", strings.Replace(narrow, "\n", "\r\n", 1), "read-only", ""},
		{"too large", strings.Repeat(narrow, MaxFile/len(narrow)+1), "error", ""},
	} {
		s, err := Parse([]byte(c.text))
		got, open := s.Mode, ""
		if err != nil {
			got = "error"
			if !reflect.DeepEqual(s, State{}) {
				t.Errorf("%s: an error comes with %+v", c.name, s)
			}
		}
		for _, p := range s.Open {
			open += p.ID
		}
		if got != c.mode || open != c.open {
			t.Errorf("%s: mode %q, open %q, %v; want %q, %q", c.name, got, open, err, c.mode, c.open)
		}
	}
}

func TestLine(t *testing.T) {
	for _, e := range []Event{
		{Event: SandboxMode, Mode: "read-only"},
		{Event: ApprovalPolicy, Policy: "never"},
		{Event: PermissionPreset, Preset: "workspace-write"},
		{Event: ApprovalAsked, ID: "a", ToolName: "make", CallID: "7", Reason: "<b>\n\x1b & \xff"},
	} {
		line, err := e.Line()
		if err != nil || strings.Count(string(line), "\n") != 1 {
			t.Errorf("%+v is written %q, %v", e, line, err)
			continue
		}
		if _, err := Parse(line); err != nil {
			t.Errorf("Parse(%q): %v", line, err)
		}
	}
	for _, e := range []Event{
		{},
		{Event: SandboxMode},
		{Event: SandboxMode, Mode: "full"},
		{Event: SandboxMode, Mode: "read-only", ID: "a"},
		{Event: ApprovalAsked, ID: "a", ToolName: "make", Reason: strings.Repeat("x", MaxLine)},
	} {
		if line, err := e.Line(); err == nil {
			t.Errorf("%+v is written %q", e, line)
		}
	}
}

// Cut anywhere, or with one byte changed, a log never says a wider mode than the
// whole one, and says none by mistake.
func TestDamageNeverWidens(t *testing.T) {
	text := fmt.Sprintf(mode, "read-only") + fmt.Sprintf(asked, "a") + fmt.Sprintf(decided, "a") + fmt.Sprintf(asked, "b")
	for i := range len(text) + 1 {
		if s, err := Parse([]byte(text[:i])); err == nil && i >= len(fmt.Sprintf(mode, "read-only")) && s.Mode != "read-only" {
			t.Errorf("cut at %d: the mode is %q", i, s.Mode)
		}
	}
	for i := range text {
		for _, b := range []byte{0, '\n', '"', 'x', text[i] ^ 1, text[i] ^ 0x20} {
			damaged := []byte(text)
			damaged[i] = b
			if s, err := Parse(damaged); err == nil && s.Mode != "read-only" {
				t.Errorf("byte %d is %q: the mode is %q", i, b, s.Mode)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(mode, "read-only") + fmt.Sprintf(asked, "a") + fmt.Sprintf(decided, "a")))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		// The mode is that of the last line which has one, read by other means.
		want := ""
		for line := range strings.Lines(string(text)) {
			var e struct{ Event, Mode string }
			if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &e) == nil && e.Event == SandboxMode {
				want = e.Mode
			}
		}
		if s.Mode != want {
			t.Errorf("Parse(%q) says the mode %q, want %q", text, s.Mode, want)
		}
	})
}

// A log is read at each start.
func BenchmarkParse(b *testing.B) {
	var s strings.Builder
	for i := range 500 {
		fmt.Fprintf(&s, asked, fmt.Sprint(i))
		fmt.Fprintf(&s, decided, fmt.Sprint(i))
	}
	text := []byte(s.String())
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
