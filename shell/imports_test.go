package shell

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The package opens no file and runs nothing, because it cannot.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"fmt", "mvdan.cc/sh/v3/syntax", "path", "reflect", "slices", "strconv", "strings", "unicode", "unicode/utf8"}
	for _, imp := range strings.Fields(string(out)) {
		if !slices.Contains(allowed, imp) {
			t.Errorf("shell imports %q; allowed are %q", imp, allowed)
		}
	}
}
