package sim_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// For the policies that letta-code builds, our arguments mean on every path what
// letta-code's own mean: a bind of the root, a fresh /dev and /proc, the base
// binds, a tmpfs over each denied tree, and binds back. Where they differ, ours
// are stricter, and the case says so.
//
// The cases are files in testdata/letta, written by hand. After a policy and an
// argument vector, "same STATE PATH" says what both give, and "THEIRS OURS PATH"
// what each does: r, w, and v for a write that vanishes with the sandbox, then m
// where the name can be moved away. "below PATH" stands for all beneath a path.
// Every path that no line is about must be the same in both.
func TestLettaPolicies(t *testing.T) {
	files, err := filepath.Glob("testdata/letta/*-*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range append(files, "testdata/letta/workspace.txt") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { lettaCase(t, file) })
	}
}

func lettaCase(t *testing.T, file string) {
	tree := sim.NewTree().Mounts("/dev", "/proc", "/sys")
	add := func(path string) {
		if dir, ok := strings.CutSuffix(path, "/"); ok {
			tree.Dirs(dir)
		} else {
			tree.Files(path)
		}
	}
	for _, line := range readLines(t, "testdata/letta/tree.txt") {
		add(line)
	}
	var p policy.Policy
	var argv []string
	var wants []lettaWant
	for _, line := range readLines(t, file) {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "also":
			add(rest)
		case "policy":
			var err error
			if p, err = policy.Parse([]byte(rest)); err != nil {
				t.Fatal(err)
			}
		case "argv":
			argv = strings.Fields(rest)
		default:
			wants = append(wants, parseWant(t, word, rest))
		}
	}
	theirs, err := sim.Bwrap(argv, tree, nil)
	if err != nil {
		t.Fatal(err)
	}
	ours := ourView(t, p, tree)
	used := make([]bool, len(wants))
	for _, path := range sim.Probes(tree) {
		got := [2]string{lettaState(theirs, path), lettaState(ours, path)}
		want := [2]string{got[0], got[0]}
		for i, w := range slices.Backward(wants) {
			if policy.Holds(w.path, path) && w.below == (w.path != path) {
				want, used[i] = [2]string{w.theirs, w.ours}, true
				break
			}
		}
		if got != want {
			t.Errorf("%s %s %s, want %s", got[0], got[1], path, want)
		}
		if loses(got) {
			t.Errorf("%q: theirs %s, ours %s: not stricter", path, got[0], got[1])
		}
	}
	for i, w := range wants {
		if !used[i] {
			t.Errorf("no path is %q", w.path)
		}
	}
}

// loses reports whether ours allows what theirs does not.
func loses(state [2]string) bool {
	for i := range state[1] {
		if state[1][i] != '-' && state[0][i] == '-' {
			return true
		}
	}
	return false
}

type lettaWant struct {
	theirs, ours, path string
	below              bool
}

func parseWant(t *testing.T, word, rest string) lettaWant {
	t.Helper()
	second, path, ok := strings.Cut(rest, " ")
	w := lettaWant{theirs: word, ours: second}
	if word == "same" {
		w.theirs = second
	}
	w.path, w.below = strings.CutPrefix(path, "below ")
	if !ok || len(w.theirs) != 4 || len(w.ours) != 4 {
		t.Fatalf("malformed line %q %q", word, rest)
	}
	return w
}

func lettaState(v sim.View, path string) string {
	if path != "/" && v.Entry(path) {
		return state(v, path) + "m"
	}
	return state(v, path) + "-"
}

func ourView(t *testing.T, p policy.Policy, tree *sim.Tree) sim.View {
	t.Helper()
	r, err := policy.Resolve(p, tree)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := bwrap.New(r, bwrap.Host{Layered: true, ControlFiles: []string{"/proc/sys", "/sys"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Create) > 0 {
		t.Fatalf("roots to be made: %v", plan.Create)
	}
	v, err := sim.Bwrap(plan.Args, tree, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// readLines returns the lines of a file that are neither empty nor comments.
func readLines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" || line[0] == '#' })
}

// Where the local backend has never been used its tree is missing. letta-code's
// arguments have bubblewrap make the directory, unasked; ours name it in the
// plan, and hide it once the launcher has made it.
func TestLettaMissingTree(t *testing.T) {
	const missing = "/home/u/.letta/lc-local-backend/memfs"
	argv := strings.Fields("--bind / / --dev /dev --proc /proc --tmpfs /home/u/.letta/agents --tmpfs " + missing)
	p := policy.Policy{Denied: []string{"/home/u/.letta/agents", missing}}
	tree := sim.NewTree().Dirs("/home/u/.letta/agents/other", "/dev/shm", "/proc/sys", "/sys")
	if _, err := sim.Bwrap(argv, tree, nil); err == nil || !strings.Contains(err.Error(), "make the mount point on the host") {
		t.Errorf("theirs: %v, want a mount point that is made on the host", err)
	}
	r, err := policy.Resolve(p, tree)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := bwrap.New(r, bwrap.Host{Layered: true})
	if err != nil || len(plan.Create) != 1 || plan.Create[0].Path != missing {
		t.Fatalf("Create = %v, %v, want %q alone", plan.Create, err, missing)
	}
	ours := ourView(t, p, tree.Dirs(missing))
	if got := lettaState(ours, missing+"/x"); got != "----" {
		t.Errorf("%q: %s, want it hidden", missing, got)
	}
}
