package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestLongNames: a name that no file can have is refused, and not cut.
func TestLongNames(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		before := tr.Snapshot()
		name := strings.Repeat("n", 300)
		for _, flag := range []string{"--deny", "--read-only", "--writable", "--base-writable"} {
			for _, path := range []string{tr.Path("work/" + name), tr.Path("work/" + name + "/below")} {
				refused(t, b.run(t, tr, flags{flag, path}, "touch", "ran"), "file name too long", "")
			}
		}
		tr.Changed(before)
		if res := b.free(t, tr, "touch", tr.Path("work/"+name)); !strings.Contains(res.Stderr, "File name too long") {
			t.Errorf("control: the kernel takes the name: %+v", res)
		}
		longest := strings.Repeat("n", 255)
		tr.Write("work/"+longest+"/secret", "secret")
		if got := b.calls(t, tr, flags{"--deny", tr.Path("work/" + longest)}, row{call: "read", paths: "work/" + longest + "/secret"}); got[0] != hidden.errno(b.backend) {
			t.Errorf("reading below the longest name there is = %s, want %s", got[0], hidden.errno(b.backend))
		}
	})
}

// deep makes directories in the tree until a path in it has nearly the given
// length, each with a name of so many bytes, and returns the last. No path that
// the kernel takes is longer than 4,095 bytes.
func deep(t *testing.T, tr *testenv.Tree, length, name int) string {
	t.Helper()
	path := tr.Path("work")
	for part := "/" + strings.Repeat("d", name); len(path)+len(part) <= length; {
		path += part
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, tr.User.UID, tr.User.GID); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestLongPaths: paths nearly as long as they can be, and directories deep below
// others, are hidden. Each directory above costs bubblewrap a mount, and that is
// quadratic before 0.13: 0.8 takes six seconds for five hundred (measured), and a
// launcher that waits thirty seconds refuses a thousand.
func TestLongPaths(t *testing.T) {
	for name, c := range map[string]struct{ length, name int }{
		"few long names":          {4040, 240},
		"a hundred of one letter": {230, 1},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				tr := testenv.NewTree(t, b.user)
				dir := deep(t, tr, c.length, c.name)
				testenv.WriteFile(t, dir+"/secret", "secret", 0o644)
				ask := []string{testenv.Helper(t), "calls", "read", dir + "/secret", "create", dir + "/new", "append", tr.Path("out/file.txt")}
				want := fmt.Sprintf("%s\n%s\nok\n", hidden.errno(b.backend), sealed.errno(b.backend))
				if res := b.run(t, tr, flags{"--deny", dir}, ask...); res.Stdout != want || res.Stderr != "" {
					t.Errorf("reading, creating and writing elsewhere = %+v, want %q", res, want)
				}
				if free := b.free(t, tr, ask...); free.Stdout != "ok\nok\nok\n" {
					t.Errorf("control: %+v", free)
				}
			})
		})
	}
}

// TestCaseInsensitiveDirectory: in a directory that ignores case a denied
// Secret is not to be had as secret, and a root may be spelled either way.
func TestCaseInsensitiveDirectory(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		testenv.Need(t, testenv.FacilityRoot, testenv.HasRoot())
		if err := unix.Access("/sys/fs/ext4/features/casefold", unix.F_OK); err != nil {
			testenv.Need(t, "casefold", errors.New("this kernel's ext4 cannot ignore case (CONFIG_UNICODE)"))
		}
		if _, err := exec.LookPath("chattr"); err != nil {
			testenv.Need(t, "casefold", err)
		}
		for _, spelled := range []string{"Secret", "secret", "SECRET"} {
			tr := testenv.NewTree(t, b.user)
			s := steps{
				{"loop", image(t, tr, "-O", "casefold"), "home/.letta", ""},
				{"dir", "", "home/.letta/fold", ""},
				{"fold", "home/.letta/fold", "home/.letta/fold", ""},
				{"dir", "", "home/.letta/fold/Secret", ""},
				{"file", "secret", "home/.letta/fold/Secret/file", ""},
				{"file", "open", "home/.letta/fold/Other", ""},
			}
			var rows []row
			for _, asked := range []string{"Secret", "secret", "SECRET", "sEcReT"} {
				rows = append(rows, row{"read", "home/.letta/fold/" + asked + "/FILE", hidden, ""})
			}
			rows = append(rows, row{"read", "home/.letta/fold/oTHER", allowed, ""})
			b.mounted(t, tr, s, flags{"--deny", tr.Path("home/.letta/fold/" + spelled)}, rows...)
		}
	})
}
