package sim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// The interpreter and bubblewrap itself carry out the same random operations:
// they fail on the same ones, show the same directory at each path, and let the
// same writes through to the same place.
func TestBwrapIsBubblewrap(t *testing.T) {
	needBwrap(t, os.Getuid())
	rng := rand.New(rand.NewPCG(1, 2))
	cases, ran := 150, 0
	for i := range cases {
		if t.Failed() {
			return
		}
		h := newHost(t)
		argv := h.randomArgv(rng)
		v, simErr := sim.Bwrap(argv, h.tree, nil)
		if simErr != nil && (strings.Contains(simErr.Error(), "on the host") || strings.Contains(simErr.Error(), "is covered")) {
			continue // where the interpreter is stricter on purpose
		}
		out, err := exec.Command("bwrap", append(argv, "--", "/bin/sh", "-c", h.script())...).CombinedOutput()
		if started := strings.Contains(string(out), "started\n"); started != (simErr == nil) {
			t.Errorf("case %d: %q: interpreter says %v, bubblewrap %v: %s", i, argv, simErr, err, out)
			continue
		}
		if simErr == nil {
			ran++
			h.compare(t, argv, v, string(out))
		}
	}
	t.Logf("%d of %d argument vectors ran", ran, cases)
	if ran < cases/4 {
		t.Errorf("%d of %d argument vectors ran, want a quarter or more", ran, cases)
	}
}

// hostDir is a directory with a small tree of directories in it. Each directory
// holds a file "mark" with the directory's own name.
type hostDir struct {
	at   string
	dirs []string
	tree *sim.Tree
}

func newHost(t *testing.T) hostDir {
	t.Helper()
	at, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := hostDir{at: at, tree: sim.NewTree().Dirs(at)}
	for _, dir := range []string{"", "/a", "/a/b", "/a/b/c", "/a/d", "/ab"} {
		path := at + dir
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+"/mark", []byte(path), 0o644); err != nil {
			t.Fatal(err)
		}
		h.dirs = append(h.dirs, path)
		h.tree.Dirs(path).Files(path + "/mark")
	}
	return h
}

func (h hostDir) randomArgv(rng *rand.Rand) []string {
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	dir := func() string { return pick(h.dirs) }
	argv := []string{pick([]string{"--bind", "--ro-bind"}), "/", "/"}
	for range 1 + rng.IntN(6) {
		switch rng.IntN(12) {
		case 0, 1, 2, 3:
			d := dir()
			argv = append(argv, pick([]string{"--bind", "--ro-bind", "--bind-try", "--dev-bind"}), d, d)
		case 4:
			argv = append(argv, pick([]string{"--bind", "--ro-bind"}), dir(), dir())
		case 5, 6, 7:
			argv = append(argv, "--tmpfs", dir())
		case 8:
			// Most often of what is a mount point already.
			argv = append(argv, "--remount-ro", argv[len(argv)-1])
		case 9:
			argv = append(argv, "--remount-ro", dir())
		case 10:
			argv = append(argv, "--dir", dir())
		case 11:
			argv = append(argv, "--bind-try", h.at+"/none", dir(), pick([]string{"--bind", "--ro-bind"}), "/dev/null", dir()+"/mark")
		}
	}
	return argv
}

// script prints what each directory's mark says, and tries to write beside it
// under a name that tells where it was tried.
func (h hostDir) script() string {
	var s strings.Builder
	s.WriteString("echo started\nexec 2>&-\n")
	for i, dir := range h.dirs {
		fmt.Fprintf(&s, "printf 'shows %d <%%s>\\n' \"$(cat %s/mark)\"\n", i, dir)
		fmt.Fprintf(&s, "(: > %s/wrote%d) && echo 'write %d <ok>'\n", dir, i, i)
	}
	return s.String() + "true\n"
}

func (h hostDir) compare(t *testing.T, argv []string, v sim.View, out string) {
	t.Helper()
	for i, dir := range h.dirs {
		mark, _ := v.Shows(dir + "/mark")
		want := strings.TrimSuffix(mark, "/mark")
		if h.tree.Kind(mark) != policy.File {
			want = "" // masked, or on a tmpfs
		}
		if line := fmt.Sprintf("shows %d <%s>\n", i, want); !strings.Contains(out, line) {
			t.Errorf("%q: %q should show %q: %s", argv, dir, want, out)
		}
		place, reaches := v.Shows(dir + "/wrote")
		reaches = reaches && h.tree.Kind(filepath.Dir(place)) == policy.Dir
		_, err := os.Lstat(fmt.Sprintf("%s%d", place, i))
		if (err == nil) != reaches {
			t.Errorf("%q: a write in %q reaches the host at %q: %v, want %v: %s", argv, dir, place, err == nil, reaches, out)
		}
		void := v.Void(dir+"/wrote") && v.Visible(dir)
		if wrote := strings.Contains(out, fmt.Sprintf("write %d <ok>\n", i)); wrote != (reaches || void) {
			t.Errorf("%q: a write in %q succeeds: %v, want %v: %s", argv, dir, wrote, reaches || void, out)
		}
	}
}
