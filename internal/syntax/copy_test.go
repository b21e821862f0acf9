package syntax

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "mvdan.cc/sh/v3/syntax" // keeps the module, and its version, in go.mod
)

func TestFilesAreTheModules(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "mvdan.cc/sh/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	module := strings.TrimSpace(string(out))
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	same := map[string]string{"LICENSE": filepath.Join(module, "LICENSE")}
	for _, name := range files {
		if name != "doc.go" && name != "copy_test.go" {
			same[name] = filepath.Join(module, "syntax", name)
		}
	}
	if len(same) != 10 {
		t.Errorf("%d files are compared, want 10", len(same))
	}
	for name, origin := range same {
		ours, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile(origin)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(ours, theirs) {
			t.Errorf("%s differs from %s", name, origin)
		}
	}
}
