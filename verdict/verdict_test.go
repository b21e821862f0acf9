package verdict

import (
	"encoding/json"
	"testing"
)

// TestWords: the words and statuses that callers depend on.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		decision Decision
		word     string
		status   int
	}{{Allow, "allow", 0}, {Deny, "deny", 2}, {Ask, "ask", 3}} {
		if c.decision.String() != c.word || c.decision.Status() != c.status {
			t.Errorf("%d is %q, status %d, want %q, %d", c.decision, c.decision, c.decision.Status(), c.word, c.status)
		}
	}
	if text, err := json.Marshal(Verdict{}); err != nil || string(text) != `{"decision":"ask","code":"","reason":""}` {
		t.Errorf("the zero Verdict is %s, %v", text, err)
	}
}

// TestStricter: the stricter wins from either side, and the first of equals.
func TestStricter(t *testing.T) {
	order := []Decision{Allow, Ask, Deny}
	for i, a := range order {
		for j, b := range order {
			got := Verdict{Decision: a, Code: "a"}.Stricter(Verdict{Decision: b, Code: "b"})
			want := Verdict{Decision: a, Code: "a"}
			if j > i {
				want = Verdict{Decision: b, Code: "b"}
			}
			if got != want {
				t.Errorf("of %s and %s came %+v", a, b, got)
			}
		}
	}
}
