package dsh

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestMain runs the tests, or is the helper that makes the kernel answer a program
// as another one would.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "answer" {
		os.Exit(answer(os.Args[2], os.Args[3:]))
	}
	os.Exit(testenv.Main(m))
}

// called returns a link to the launcher with another name.
func called(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	// The path to it must be open to every user.
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, name)
	if err := os.Symlink(testenv.Launcher(t), link); err != nil {
		t.Fatal(err)
	}
	return link
}
