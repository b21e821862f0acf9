package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestLimitsTable: the page has the table, and each row names what there is.
func TestLimitsTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseLimits(string(page))
	if err != nil {
		t.Fatal(err)
	}
	if want := (limit{"nested-bwrap", "both", "both"}); !slices.Contains(list, want) {
		t.Errorf("the table is %v, want it to hold %v", list, want)
	}
}

func TestLimitsTableRefuses(t *testing.T) {
	for name, page := range map[string]string{
		"no table":         "nothing",
		"unknown workload": heading + "\n| --- | --- | --- | --- |\n| `none` | both | both | it is so |\n",
		"unknown backend":  heading + "\n| `git` | seatbelt | both | it is so |\n",
		"unknown user":     heading + "\n| `git` | both | alice | it is so |\n",
		"no reason":        heading + "\n| `git` | both | both | |\n",
	} {
		if list, err := parseLimits(page); err == nil {
			t.Errorf("%s: the table is %v, want an error", name, list)
		}
	}
}

// TestJudge: a failure that is not listed is bad, and so is a listed one that is
// none.
func TestJudge(t *testing.T) {
	listed := []limit{{"git", "landlock", "root"}}
	for _, c := range []struct {
		what    string
		as      string
		passed  [2]bool
		skipped string
		bad     bool
	}{
		{"as listed", "root", [2]bool{true, false}, "", false},
		{"a listed one passes", "root", [2]bool{true, true}, "", true},
		{"an unlisted one fails", "root", [2]bool{false, false}, "", true},
		{"listed for another user", "user", [2]bool{true, false}, "", true},
		{"all passes", "user", [2]bool{true, true}, "", false},
		{"skipped", "root", [2]bool{}, "no git", false},
	} {
		r := row{workload: workload{name: "git"}, user: user{name: c.as}, passed: c.passed, skipped: c.skipped}
		if bad := r.judge(listed); bad != c.bad {
			t.Errorf("%s: bad is %t, want %t: %s", c.what, bad, c.bad, r.String())
		}
	}
}

// TestNames: each workload has a name of its own, and there are fifty.
func TestNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, w := range workloads {
		if seen[w.name] || w.name == "" || strings.TrimSpace(w.script) == "" {
			t.Errorf("workload %q is there twice, or empty", w.name)
		}
		seen[w.name] = true
	}
	if len(seen) < 50 {
		t.Errorf("there are %d workloads, want fifty", len(seen))
	}
}
