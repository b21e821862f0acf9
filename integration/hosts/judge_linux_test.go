package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestJudgeFindsFault: what a launcher must not do is in no expected text.
func TestJudgeFindsFault(t *testing.T) {
	answers := func(change int, errno string) []string {
		var seen []string
		for _, a := range acts {
			seen = append(seen, fmt.Sprint(int(a.landlock)))
		}
		if change >= 0 {
			seen[change] = errno
		}
		return seen
	}
	for _, c := range []struct {
		name    string
		r       result
		backend string
		want    string // what the fault begins with; empty for none
	}{
		{"every act answered", result{seen: answers(-1, "")}, "landlock", ""},
		{"a denied file was read", result{seen: answers(0, "0")}, "landlock", " LEAK: read denied gives errno 0"},
		{"the wrong dialect", result{seen: answers(0, "2")}, "landlock", " LEAK: read denied gives errno 2"},
		{"an allowed file was not read", result{seen: answers(2, "13")}, "landlock", " LEAK: read read-only gives errno 13"},
		{"fewer acts than there are", result{seen: answers(-1, "")[1:]}, "landlock", " FAILED (0, 7 acts)"},
		{"refused", result{status: 125, stderr: "letta-confine: error: no"}, "", ""},
		{"refused, and the acts ran all the same", result{status: 125, stderr: "letta-confine: error: no", seen: answers(-1, "")}, "", " RAN without a backend (125)"},
		{"not refused, and no backend", result{seen: answers(-1, "")}, "", " RAN without a backend (0)"},
		{"refused without a word", result{status: 125}, "", " DIED (125)"},
		{"ended with a status of the command's", result{status: 1, stderr: "letta-confine: error: no"}, "", " DIED (1)"},
		{"hung", result{status: -1, stderr: "HUNG for 30s"}, "", " DIED (-1): HUNG"},
	} {
		got := c.r.wrong(c.backend)
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: the fault is %q, want %q", c.name, got, c.want)
		}
	}
	for _, r := range strings.Split(expected, "\n") {
		for _, fault := range []string{"LEAK", "FAILED", "DIED", "RAN", "HUNG"} {
			if strings.Contains(r, fault) {
				t.Errorf("the table expects a fault: %q", r)
			}
		}
	}
}
