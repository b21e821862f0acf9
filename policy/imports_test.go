package policy_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The policy language must not be able to touch the host: everything it knows
// of a file system comes through policy.FS.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"cmp", "errors", "fmt", "io/fs", "slices", "strconv", "strings", "unicode/utf16", "unicode/utf8"}
	imports := strings.Fields(string(out))
	if len(imports) == 0 {
		t.Fatal("go list names no import of package policy")
	}
	for _, imp := range imports {
		if !slices.Contains(allowed, imp) {
			t.Errorf("policy imports %q; allowed are %q", imp, allowed)
		}
	}
}
