package seatbelt_test

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/seatbelt"
)

func TestArgv(t *testing.T) {
	plan := seatbelt.Plan{Text: "text", Params: []seatbelt.Param{{"R0", "/a=b"}, {"R1", "/-D x"}}}
	got := plan.Argv([]string{"/bin/echo", "-p", "--", "x"})
	want := []string{"/usr/bin/sandbox-exec", "-p", "text", "-DR0=/a=b", "-DR1=/-D x", "--", "/bin/echo", "-p", "--", "x"}
	if !slices.Equal(got, want) {
		t.Errorf("Argv = %q, want %q", got, want)
	}
}

func TestStatus(t *testing.T) {
	tests := []struct {
		status  int
		started bool
		want    error
	}{
		{0, false, nil},
		{1, false, nil},
		{65, false, seatbelt.ErrProfile},
		{71, false, seatbelt.ErrApply},
		{65, true, nil},
		{71, true, nil},
		{125, false, nil},
	}
	for _, tt := range tests {
		err := seatbelt.Status(tt.status, tt.started)
		if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("Status(%d, %v) = %v, want %v", tt.status, tt.started, err, tt.want)
		}
		var e *seatbelt.StatusError
		if errors.As(err, &e) && e.Hint() == "" {
			t.Errorf("Status(%d, %v) has no hint", tt.status, tt.started)
		}
	}
}

func TestSizeGuard(t *testing.T) {
	var p policy.Policy
	for i := range 1000 {
		p.Denied = append(p.Denied, fmt.Sprintf("/Users/u/projects/p%d/secret", i))
	}
	_, err := seatbelt.Profile(resolve(t, p, nil))
	var e *seatbelt.SizeError
	if !errors.As(err, &e) {
		t.Fatalf("Profile of 1000 roots = %v, want a SizeError", err)
	}
	// Each root and each directory above one counts in both spellings: 1000
	// roots, and 1000 project directories with /Users, /Users/u and projects.
	if e.Roots != 2000 || e.Ancestors != 2006 || e.Bytes <= e.Limit || e.Hint() == "" {
		t.Errorf("SizeError = %+v", *e)
	}
	p.Denied = p.Denied[:60]
	plan := profile(t, p, nil)
	if n := strings.Count(fmt.Sprint(plan.Params), " /Users}"); n != 1 {
		t.Errorf("/Users is a parameter %d times, want once", n)
	}
}

// Emission must be possible, and must come out the same, on every system: what it
// needs to know of the host comes with the policy.
func TestImports(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".")
	cmd.Env = append(cmd.Environ(), "GOOS=windows") // where nothing is started
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"errors", "fmt", "slices", "strconv", "strings", "github.com/letta-confine/letta-confine/policy"}
	for _, imp := range strings.Fields(string(out)) {
		if !slices.Contains(allowed, imp) {
			t.Errorf("seatbelt imports %q; allowed are %q", imp, allowed)
		}
	}
}
