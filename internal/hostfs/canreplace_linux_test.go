package hostfs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// In a sticky directory an entry belongs to its owner, so whether somebody can
// put another in its place is not a question about the directory alone.
func TestCanReplaceByOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		if slices.Contains(strings.Split(os.Getenv("CONFINE_REQUIRE"), ","), "root") {
			t.Fatal("CONFINE_REQUIRE names root, and this is not")
		}
		t.Skip("needs root: it changes to another user")
	}
	top, err := os.MkdirTemp("", "hostfs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	if top, err = filepath.EvalSymlinks(top); err != nil {
		t.Fatal(err)
	}
	make := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	make(os.Chmod(top, 0o755))
	var paths, want []string
	for _, c := range []struct {
		dir   string
		mode  os.FileMode
		owner int // of the file
		perm  os.FileMode
		want  string
	}{
		{"plain", 0o755, 0, 0o755, "no"},
		{"open", 0o777, 0, 0o755, "yes"},
		{"sticky", 0o777 | os.ModeSticky, 0, 0o755, "no"},
		{"sticky, one's own file", 0o777 | os.ModeSticky, nobody, 0o755, "yes"},
		{"a file that all can write", 0o755, 0, 0o777, "yes"},
	} {
		file := filepath.Join(top, c.dir, "program")
		make(os.Mkdir(filepath.Dir(file), 0o700))
		make(os.WriteFile(file, nil, 0o600))
		make(os.Chmod(file, c.perm))
		make(os.Chown(file, c.owner, c.owner))
		make(os.Chmod(filepath.Dir(file), c.mode))
		paths, want = append(paths, file), append(want, c.want)
	}
	for i, got := range askAsNobody(t, top, "file", paths) {
		if got != want[i] {
			t.Errorf("CanReplace(%q) as another user = %s, want %s", paths[i], got, want[i])
		}
	}
	if !CanReplace(paths[0]) {
		t.Errorf("CanReplace(%q) as root = false", paths[0])
	}
}
