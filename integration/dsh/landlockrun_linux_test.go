package dsh

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

var users = []testenv.User{testenv.Root, testenv.Plain}

// eachUser runs f as a subtest for every user, in parallel.
func eachUser(t *testing.T, f func(t *testing.T, u testenv.User)) {
	t.Helper()
	t.Parallel()
	for _, u := range users {
		t.Run(u.Name, func(t *testing.T) {
			t.Parallel()
			testenv.NeedBackend(t, "landlock", u)
			f(t, u)
		})
	}
}

// TestLandlockRun runs testdata/landlock-run.tsv, what DSH's launcher does, byte for
// byte: called by its name, and with the name as the first word. Exact output ends
// in a newline; ~ means that it contains the text. Each refused write is done
// unconfined, too. UNIQUE is a name that no other test has.
func TestLandlockRun(t *testing.T) {
	named := called(t, "landlock-run")
	eachUser(t, func(t *testing.T, u testenv.User) {
		landlockRunCases(t, u, named)
		landlockRunCases(t, u, testenv.Launcher(t)+" landlock-run")
	})
}

// landlockRunCases runs the cases with the words of launcher.
func landlockRunCases(t *testing.T, u testenv.User, launcher string) {
	t.Helper()
	text, err := os.ReadFile("testdata/landlock-run.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range lines[1:] {
		f := strings.Split(line, "\t")
		if len(f) != 7 {
			t.Fatalf("%q has %d fields, want 7", line, len(f))
		}
		kernel, args, after := f[0], f[1], strings.Fields(f[5])
		words := launcher
		if kernel != "" {
			if !canAnswer {
				continue
			}
			words = fmt.Sprintf("%s answer %s %s", testenv.Helper(t), kernel, launcher)
		}
		tr := casesTree(t, u)
		got := inShell(t, tr, "exec "+words+" "+args)
		name := fmt.Sprintf("%s %s %s", launcher, kernel, args)
		if !said(got.Stdout, f[2]) || !said(got.Stderr, f[3]) || !ended(got.Status, f[4]) {
			t.Errorf("%s: got %+v, want stdout %q, stderr %q, exit %s", name, got, f[2], f[3], f[4])
		}
		for _, state := range after {
			if !holds(tr, state) {
				t.Errorf("%s: afterwards not %s", name, state)
			}
		}
		if _, command, ok := strings.Cut(args, " -- "); ok && strings.HasPrefix(f[3], "~") {
			tr := casesTree(t, u)
			if res := inShell(t, tr, command); res.Status != 0 {
				t.Errorf("control: %s unconfined gave %+v", command, res)
			}
			for _, state := range after {
				if holds(tr, state) {
					t.Errorf("control: %s unconfined left %s", command, state)
				}
			}
			os.Remove("/dev/shm/" + filepath.Base(tr.Dir))
		}
	}
}

func casesTree(t *testing.T, u testenv.User) *testenv.Tree {
	tr := testenv.NewTree(t, u)
	for name, text := range map[string]string{"W/kept": "kept\n", "W/sub/deep": "", "W-other/x": "", "ungranted/x": "", "file": "file\n", "garbage": "garbage\n"} {
		tr.Write("work/"+name, text)
	}
	for link, target := range map[string]string{"link": "W", "loop": "loop"} {
		if err := os.Symlink(target, tr.Path("work/"+link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(tr.Path("work/garbage"), 0o755); err != nil {
		t.Fatal(err)
	}
	return tr
}

func inShell(t *testing.T, tr *testenv.Tree, text string) testenv.Result {
	t.Helper()
	text = strings.ReplaceAll(text, "UNIQUE", filepath.Base(tr.Dir))
	return testenv.Command{User: tr.User, Dir: tr.Path("work"), Home: tr.Home(), Argv: []string{"/bin/sh", "-c", text}}.Run(t)
}

func said(got, want string) bool {
	if part, ok := strings.CutPrefix(want, "~"); ok {
		return strings.Contains(got, part)
	}
	if want != "" {
		want += "\n"
	}
	return got == want
}

func ended(got int, want string) bool {
	if others, ok := strings.CutPrefix(want, "not "); ok {
		return !slices.Contains(strings.Split(others, ","), strconv.Itoa(got))
	}
	return strconv.Itoa(got) == want
}

// holds reads "path!", which says that nothing is there, or "path=line".
func holds(tr *testenv.Tree, state string) bool {
	if path, ok := strings.CutSuffix(state, "!"); ok {
		_, err := os.Lstat(tr.Path(inWork(strings.ReplaceAll(path, "UNIQUE", filepath.Base(tr.Dir)))))
		return err != nil
	}
	path, line, _ := strings.Cut(state, "=")
	data, err := os.ReadFile(tr.Path(inWork(path)))
	return err == nil && string(data) == line+"\n"
}

func inWork(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return "work/" + path
}
