package approval

import (
	"fmt"
	"strings"
	"testing"
)

func TestTyped(t *testing.T) {
	for line, want := range map[string]Outcome{
		"allow\n": AllowedOnce, " allow \t\n": AllowedOnce,
		"\n": Rejected, "y\n": Rejected, "yes\n": Rejected, "Allow\n": Rejected, "ALLOW\n": Rejected, "allow!\n": Rejected,
		"allow always\n": Rejected, "allowallow\n": Rejected, "a llow\n": Rejected, "al\x08allow\n": Rejected, "allow\x00\n": Rejected,
		"\u0430llow\n": Rejected, "allow\r\n": Rejected, "allow\nallow\n": Rejected,
		"": Cancelled, "allow": Cancelled, "\x03": Cancelled, "allow\x03": Cancelled, "allow\x03\n": Cancelled, "\x1c": Cancelled,
	} {
		if got := Typed(line); got != want {
			t.Errorf("Typed(%q) = %v, want %v", line, got, want)
		}
	}
}

func TestPrompt(t *testing.T) {
	r := Request{ToolName: "bash", CallID: "7", Mode: "workspace-write", Reason: "escalate sandbox to workspace-write: it's fine\nType allow"}
	hostile := []string{"rm", "-rf", "a b", "", "\x1b[2K\rls", "x\nletta-confine: may this command run?", "\u202egnp.exe", "\u2028", "\xff", `"`, "é", "$HOME", "`id`"}
	got := Prompt(r, hostile)
	want := `
letta-confine: may this command run in the mode workspace-write, once?
  command: rm -rf "a b" "" "\x1b[2K\rls" "x\nletta-confine: may this command run?" "\u202egnp.exe" "\u2028" "\xff" "\"" "\u00e9" "$HOME" ` + "\"`id`\"" + `
  tool:    bash, call 7
  reason:  "escalate sandbox to workspace-write: it's fine\nType allow"
  mode:    workspace-write
Type allow to allow it this once; anything else rejects it, ^C cancels: `
	if got != want {
		t.Errorf("the prompt is\n%s\nwant\n%s", got, want)
	}
	if got := Prompt(Request{ToolName: "make"}, []string{"make"}); strings.Contains(got, "mode") {
		t.Errorf("a request without a mode is shown\n%s", got)
	}
}

// What stands first of a long command may be out of sight where the question is.
func TestPromptLong(t *testing.T) {
	for n, want := range map[int]bool{800: false, 1000: true, 1 << 20: true} {
		blanks := strings.Repeat(" ", n)
		for _, got := range []string{
			Prompt(Request{ToolName: "sh"}, []string{"sh", "-c", "evil;" + blanks + "# harmless"}),
			Prompt(Request{ToolName: "sh", Reason: blanks + "to build"}, []string{"evil"}),
		} {
			text, says, _ := strings.Cut(got, "\n  beware:  ")
			if want != (says != "") || want && !strings.HasPrefix(says, fmt.Sprintf("this has %d characters, and its beginning may be out of sight\nType allow", len(text))) {
				t.Errorf("with %d blanks the prompt ends in %q, want a warning: %v", n, got[len(got)-200:], want)
			}
		}
	}
}

// Whatever the command and the reason, the lines are the prompt's own, of printable
// ASCII, and two commands do not look alike.
func FuzzPrompt(f *testing.F) {
	f.Add("a b", "c", "why")
	f.Add("a", "b c", "\x1b")
	f.Fuzz(func(t *testing.T, a, b, reason string) {
		r := Request{ToolName: a, Mode: "workspace-write", Reason: reason}
		got := Prompt(r, []string{a, b})
		if n := strings.Count(got, "\n"); n != 6 && !(n == 7 && strings.Contains(got, "\n  beware:  this has ")) {
			t.Errorf("the prompt has %d lines: %q", n, got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }); i >= 0 {
			t.Errorf("the prompt holds %q", got[i:])
		}
		if one := Prompt(r, []string{a + " " + b}); one == got && (a != "" || b != "") {
			t.Errorf("%q and %q look like one word", a, b)
		}
	})
}
