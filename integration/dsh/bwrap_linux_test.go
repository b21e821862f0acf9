package dsh

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/testenv"
)

// eachBox runs f as a subtest for every backend and user, in parallel.
func eachBox(t *testing.T, f func(t *testing.T, b box)) {
	t.Helper()
	t.Parallel()
	for _, backend := range []string{"bwrap", "landlock"} {
		for _, u := range users {
			t.Run(backend+"/"+u.Name, func(t *testing.T) {
				t.Parallel()
				testenv.NeedBackend(t, backend, u)
				f(t, box{testenv.NewTree(t, u), backend})
			})
		}
	}
}

// box is a tree, and the backend that the face is told to take.
type box struct {
	*testenv.Tree
	backend string
}

// What DSH gives to bubblewrap, and adds to it for the mode workspace-write.
func readOnly() []string {
	return []string{"--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--die-with-parent"}
}

func (b box) workspaceWrite() []string {
	return append(readOnly(), "--tmpfs", "/tmp", "--bind", b.Path("work"), b.Path("work"))
}

// run runs a shell command through the face, in the workspace.
func (b box) run(t *testing.T, args []string, text string) testenv.Result {
	t.Helper()
	return b.exec(t, append(slices.Concat([]string{testenv.Launcher(t), "bwrap-argv", "--backend", b.backend, "--report", b.Path("out/report")}, args), "--", "sh", "-c", text))
}

func (b box) free(t *testing.T, text string) testenv.Result {
	t.Helper()
	return b.exec(t, []string{"sh", "-c", text})
}

func (b box) exec(t *testing.T, argv []string) testenv.Result {
	t.Helper()
	return testenv.Command{User: b.User, Dir: b.Path("work"), Home: b.Home(), Env: []string{"TMPDIR=" + b.Path("tmp")}, Argv: argv}.Run(t)
}

// denied is how the backend words that a write was refused; DSH looks for it.
func (b box) denied() string {
	if b.backend == "bwrap" {
		return "Read-only file system"
	}
	return "Permission denied"
}

// plan is the first event of the report.
func (b box) plan(t *testing.T) (plan struct {
	Backend, Enforcement string
	Gaps, Limits         []string
},
) {
	t.Helper()
	data, err := os.ReadFile(b.Path("out/report"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	if err := json.Unmarshal([]byte(line), &plan); err != nil {
		t.Fatal(err)
	}
	return plan
}

// refused checks that nothing ran, and that there is the one line that DSH looks
// for.
func refused(t *testing.T, res testenv.Result, want string) {
	t.Helper()
	line := strings.TrimSuffix(res.Stderr, "\n")
	if res.Status != 125 || res.Stdout != "" || strings.Contains(line, "\n") || !strings.HasPrefix(line, "letta-confine: error: ") || !strings.Contains(line, want) {
		t.Errorf("got %+v, want status 125 and one line with %q", res, want)
	}
}

// TestBwrapReadOnly: everything is read, and nothing written but to devices.
func TestBwrapReadOnly(t *testing.T) {
	eachBox(t, func(t *testing.T, b box) {
		if res := b.run(t, readOnly(), "cat file.txt; echo x > /dev/null"); res != (testenv.Result{Stdout: "work\n"}) {
			t.Errorf("reading gave %+v", res)
		}
		const write = "echo x > new"
		if res := b.run(t, readOnly(), write); res.Status == 0 || !strings.Contains(res.Stderr, b.denied()) || b.Exists("work/new") {
			t.Errorf("writing gave %+v, want %s", res, b.denied())
		}
		if res := b.free(t, write); res.Status != 0 || !b.Exists("work/new") {
			t.Errorf("control: unconfined it gave %+v", res)
		}
	})
}

// TestBwrapWorkspace: the workspace is written, and nothing outside of it, nor what
// is bound read-only in it.
func TestBwrapWorkspace(t *testing.T) {
	eachBox(t, func(t *testing.T, b box) {
		outside := outside(t, b.User)
		args := append(b.workspaceWrite(), "--ro-bind", b.Path("work/sub"), b.Path("work/sub"))
		if res := b.run(t, args, "echo more >> file.txt"); res != (testenv.Result{}) || b.Read("work/file.txt") != "work\nmore\n" {
			t.Errorf("writing inside gave %+v and %q", res, b.Read("work/file.txt"))
		}
		for _, file := range []string{filepath.Join(outside, "new"), b.Path("work/sub/new")} {
			write := "echo x > " + file
			if res := b.run(t, args, write); res.Status == 0 || !strings.Contains(res.Stderr, b.denied()) || b.Exists(file) {
				t.Errorf("%s gave %+v, want %s", write, res, b.denied())
			}
			if res := b.free(t, write); res.Status != 0 || !b.Exists(file) {
				t.Errorf("control: %s unconfined gave %+v", write, res)
			}
		}
	})
}

// outside returns a directory of the user's that no temporary one hides.
func outside(t *testing.T, u testenv.User) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "confine-test")
	if err == nil && os.Geteuid() == 0 {
		err = os.Chown(dir, u.UID, u.GID)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestBwrapTmp: /tmp is the command's own; Landlock has a folder, and the gap says so.
func TestBwrapTmp(t *testing.T) {
	eachBox(t, func(t *testing.T, b box) {
		res := b.run(t, b.workspaceWrite(), `f=$(mktemp) && echo "$f" && ls /tmp | wc -l && cat "$f"`)
		file, _, _ := strings.Cut(res.Stdout, "\n")
		if res.Status != 0 || file == "" {
			t.Fatalf("got %+v", res)
		}
		_, err := os.Stat(file)
		plan := b.plan(t)
		switch b.backend {
		case "bwrap":
			// The workspace of this test lies in /tmp, too.
			if !strings.HasPrefix(file, "/tmp/tmp.") || err == nil || !strings.HasSuffix(res.Stdout, "\n2\n") || slices.Contains(plan.Gaps, "tmp") {
				t.Errorf("got %+v and %+v, want a file that is not the host's", res, plan)
			}
		case "landlock":
			if !strings.HasPrefix(file, b.Path("tmp/letta-confine-")) || err != nil || !slices.Contains(plan.Gaps, "tmp") {
				t.Errorf("got %+v and %+v, want a file in a folder of its own, and the gap", res, plan)
			}
		}
	})
}

// TestBwrapProcesses: other processes are out of sight; where they are not, the gap
// says so.
func TestBwrapProcesses(t *testing.T) {
	eachBox(t, func(t *testing.T, b box) {
		sleep := testenv.Command{User: b.User, Dir: "/", Argv: []string{"sleep", "1000"}}.Cmd(t.Context())
		if err := sleep.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { sleep.Process.Kill(); sleep.Wait() })
		look := `test -e /proc/` + strconv.Itoa(sleep.Process.Pid) + `/stat && echo seen || echo gone`
		res, plan := b.run(t, readOnly(), look), b.plan(t)
		want := map[string]string{"bwrap": "gone\n", "landlock": "seen\n"}[b.backend]
		if res.Stdout != want || slices.Contains(plan.Gaps, "processes-shared") != (b.backend == "landlock") || slices.Contains(plan.Limits, "die-with-parent") != (b.backend == "landlock") {
			t.Errorf("got %+v and %+v", res, plan)
		}
		if res := b.free(t, look); res.Stdout != "seen\n" {
			t.Errorf("control: unconfined it gave %+v", res)
		}
	})
}

// TestBwrapHardened: with full hardening, whatever bubblewrap's arguments lack.
func TestBwrapHardened(t *testing.T) {
	eachBox(t, func(t *testing.T, b box) {
		res := b.run(t, b.workspaceWrite(), "grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/self/status; mount -o remount,rw,bind / 2>/dev/null && echo mounted")
		kept := uint64(0)
		if b.User.UID == 0 {
			kept = harden.Mask(harden.Kept)
		}
		want := fmt.Sprintf("CapEff:\t%016x\nNoNewPrivs:\t1\nSeccomp:\t2\n", kept)
		if res.Stdout != want {
			t.Errorf("got %+v, want %q", res, want)
		}
	})
}

// TestBwrapRefuses: what is not understood, what is not there and what would make all
// of it writable is one line, and nothing runs.
func TestBwrapRefuses(t *testing.T) {
	eachBox(t, func(t *testing.T, b box) {
		work := b.workspaceWrite
		for _, c := range []struct {
			args []string
			want string
		}{
			{append(readOnly(), "--unshare-net"), `argument "--unshare-net" is not understood`},
			{append(readOnly(), "--seccomp", "7"), `argument "--seccomp" is not understood`},
			{append(readOnly(), "--unshare-pid"), "--unshare-pid is there twice"},
			{append(readOnly(), "--bind", "/"), "in another place"},
			{append(readOnly(), "--bind", "/", "/"), "undoes them"},
			{append(readOnly(), "--bind", "", ""), "the path is empty"},
			{append(readOnly(), "--bind", "sub", "sub"), "absolute"},
			{append(readOnly(), "--bind", b.Path("missing"), b.Path("missing")), "nothing is there"},
			{append(work(), "--ro-bind", b.Path("work/missing"), b.Path("work/missing")), "nothing is there"},
			{append(work(), "--ro-bind", "/dev/null", b.Path("work/file.txt")), "in another place"},
			{append(work(), "--ro-bind", b.Path("work"), b.Path("work")), "would hide"},
			{append(work(), "--tmpfs", b.Path("work/sub")), "--tmpfs"},
			{[]string{"--bind", b.Path("work"), b.Path("work")}, "no --ro-bind / /"},
			{append([]string{"--require", "nothing"}, readOnly()...), "--require"},
			{append([]string{"--policy", "p.json"}, readOnly()...), `argument "--policy" is not understood`},
		} {
			refused(t, b.run(t, c.args, "echo ran; touch "+b.Path("work/ran")), c.want)
			if b.Exists("work/ran") {
				t.Errorf("%q: the command ran", c.args)
			}
		}
		refused(t, b.exec(t, []string{testenv.Launcher(t), "bwrap-argv"}), "no -- and command")
		if b.backend == "landlock" {
			refused(t, b.run(t, append([]string{"--require", "full"}, b.workspaceWrite()...), "true"), "--require full does not accept that")
		}
		none := append([]string{testenv.Launcher(t), "bwrap-argv", "--backend", "bwrap", "--bwrap", "/nowhere"}, readOnly()...)
		refused(t, b.exec(t, append(none, "--", "true")), "no backend can confine this command")
	})
}
