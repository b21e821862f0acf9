package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// argvOf is what plan --exec-argv prints for a command: the launcher ends before the
// command starts.
func (b box) argvOf(t *testing.T, tr *testenv.Tree, f flags, argv ...string) []string {
	t.Helper()
	testenv.Companion(t)
	c := b.command(t, tr, f, argv...)
	c.Argv = slices.Insert(c.Argv, 1, "plan", "--exec-argv")
	res := c.Run(t)
	if res.Status != 0 || res.Stderr != "" || !strings.HasSuffix(res.Stdout, "\x00") {
		t.Fatalf("plan --exec-argv gave %+v", res)
	}
	return strings.Split(strings.TrimSuffix(res.Stdout, "\x00"), "\x00")
}

// start is the command of argv alone, without the launcher.
func (b box) start(tr *testenv.Tree, argv []string) testenv.Command {
	return testenv.Command{User: b.user, Dir: tr.Path("work"), Home: tr.Home(), Argv: argv}
}

// byPath makes calls as a harness would that only runs what it was told.
func (b box) byPath(t *testing.T, tr *testenv.Tree, f flags, rows []row) {
	t.Helper()
	argv := []string{testenv.Helper(t), "calls"}
	for _, r := range rows {
		argv = append(argv, r.args(tr)...)
	}
	got := unshared(t, b.start(tr, b.argvOf(t, tr, f, argv...)))
	if len(got) != len(rows) {
		t.Fatalf("%d calls have answers %q", len(rows), got)
	}
	for i, r := range rows {
		if want := r.want.errno(b.backend); got[i] != want {
			t.Errorf("%v = %s, want %s", r, got[i], want)
		}
	}
}

// TestExecArgv: bubblewrap's argument list alone, which no launcher starts, confines
// like a run. What root could do about it, it cannot.
func TestExecArgv(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		b.byPath(t, tr, crossFlags(tr), []row{
			{"umount", agents, noCap, ""},
			{"mount-tmpfs", "work/sub", noCap, ""},
			{"bind", "home work/sub", noCap, ""},
			{"open-tree", "home", noCap, ""},
			{"read", bob + "/memory/x.md", hidden, "after all of these"},
			{"create", bob + "/new", hidden, ""},
			{"read", alice + "/memory/x.md", allowed, ""},
			{"create", alice + "/new", allowed, ""},
		})
		b.byPath(t, tr, append(workFlags(tr), "--deny", tr.Path(agents)), []row{
			{"remount-rw", "out", noCap, ""},
			{"create", "out/new", readOnly, ""},
			{"truncate", "out/file.txt", readOnly, ""},
			{"chmod", "out/file.txt", readOnly, ""},
			{"list", bob, hidden, ""},
			{"create", "work/new", allowed, ""},
		})
		// The same acts where nothing confines them. A user's mounts fail anyway.
		free := b.free(t, tr, testenv.Helper(t), "calls", "read", tr.Path(bob+"/memory/x.md"), "create", tr.Path("out/new"), "chmod", tr.Path("out/file.txt"))
		if free.Stdout != "ok\nok\nok\n" {
			t.Errorf("control: %+v", free)
		}
		if b.user.UID == 0 {
			free := unshared(t, b.start(tr, []string{
				testenv.Helper(t), "calls", "bind", tr.Path("out"), tr.Path("out"), "remount-rw", tr.Path("out"),
				"mount-tmpfs", tr.Path("work/sub"), "umount", tr.Path("work/sub"), "open-tree", tr.Home(),
			}))
			if got := strings.Join(free, " "); got != "ok ok ok ok ok" {
				t.Errorf("control: mount calls = %s", got)
			}
		}
	})
}

// TestExecArgvOtherProcesses: neither a process outside nor bubblewrap's own, which
// the harness started, is a way round a mask.
func TestExecArgvOtherProcesses(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		outside := fmt.Sprintf("/proc/%d/root%s", sleeper(t, b, tr), tr.Path(bob+"/memory/x.md"))
		script := `cat "$0"; pid=$$; for i in 1 2 3; do
			pid=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$pid/status); [ "$pid" -gt 0 ] || break
			cat "/proc/$pid/root$1"; cat "/proc/$pid/cwd/../$2"
		done; true`
		args := []string{"sh", "-c", script, outside, tr.Path(bob + "/memory/x.md"), bob + "/memory/x.md"}
		res := b.start(tr, b.argvOf(t, tr, crossFlags(tr), args...)).Run(t)
		if strings.Contains(res.Stdout, testenv.BobText) || res.Status != 0 {
			t.Errorf("bob's memory through /proc/PID/root: %+v", res)
		}
		if free := b.free(t, tr, args...); !strings.HasPrefix(free.Stdout, testenv.BobText) {
			t.Errorf("control: %+v", free)
		}
	})
}

// TestExecArgvStandardInput: what a harness has open on descriptor 0 is what the
// command could open itself, and no more.
func TestExecArgvStandardInput(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		f := append(workFlags(tr), "--deny", tr.Path(agents))
		for _, c := range []struct {
			file, argv0, want string
			refused           string
		}{
			{"out/file.txt", "", "ok EROFS\n", ""},
			{bob + "/memory/x.md", "", "", "is not to be seen inside the sandbox"},
			{bob, "", "", "leads to more than it shows"},
		} {
			in, err := os.Open(tr.Path(c.file))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			asks := []string{testenv.Helper(t), "reopen", "0"}
			cmd := b.start(tr, b.argvOf(t, tr, f, asks...))
			cmd.Stdin = in
			res := cmd.Run(t)
			if c.refused != "" {
				refused(t, res, c.refused, "")
			} else if res.Stdout != c.want {
				t.Errorf("%s as standard input: %+v, want %q", c.file, res, c.want)
			}
			cmd.Argv = asks
			if res := cmd.Run(t); c.file != bob && res.Stdout != "ok ok\n" {
				t.Errorf("control: %s as standard input: %+v", c.file, res)
			}
		}
	})
}

// TestExecArgvDescriptors: what else a harness has open does not reach the command.
func TestExecArgvDescriptors(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		secret, err := os.Open(tr.Path(bob + "/memory/x.md"))
		if err != nil {
			t.Fatal(err)
		}
		defer secret.Close()
		asks := []string{"sh", "-c", "cat <&3"}
		cmd := b.start(tr, b.argvOf(t, tr, crossFlags(tr), asks...))
		cmd.Files = []*os.File{secret}
		if res := cmd.Run(t); strings.Contains(res.Stdout, testenv.BobText) || res.Status == 0 {
			t.Errorf("bob's memory through descriptor 3: %+v", res)
		}
		if _, err := secret.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		cmd.Argv = asks
		if res := cmd.Run(t); res.Stdout != testenv.BobText {
			t.Errorf("control: %+v", res)
		}
	})
}

// TestExecArgvAfterAChange: a plan whose roots are no longer what they were starts
// nothing.
func TestExecArgvAfterAChange(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		argv := b.argvOf(t, tr, workFlags(tr), "touch", "ran")
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		if res := b.start(tr, argv).Run(t); res != (testenv.Result{}) || !tr.Exists("work/ran") {
			t.Fatalf("the plan gave %+v", res)
		}
		must(os.Rename(tr.Path("work"), tr.Path("elsewhere")))
		must(os.Symlink(tr.Path("out"), tr.Path("work")))
		c := b.start(tr, argv)
		c.Dir = tr.Path("elsewhere")
		res := c.Run(t)
		if res.Status != 1 && res.Status != 125 || tr.Exists("out/ran") { // bubblewrap's own, or the stage's
			t.Errorf("a root that became a link gave %+v, want a failure and nothing run", res)
		}
		must(os.Remove(tr.Path("work")))
		must(os.Mkdir(tr.Path("work"), 0o777))
		refused(t, c.Run(t), "was replaced while the sandbox was set up", "")
	})
}

// TestExecArgvLandlock: no argument list is a Landlock domain.
func TestExecArgvLandlock(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		testenv.Companion(t)
		tr := testenv.NewTree(t, b.user)
		c := b.command(t, tr, workFlags(tr), "true")
		c.Argv = slices.Insert(c.Argv, 1, "plan", "--exec-argv")
		refused(t, c.Run(t), "no argument list can express Landlock", "start the command through letta-confine")
	})
}

// TestCheckedPlan: a plan that is kept holds until something that it was made from
// is another.
func TestCheckedPlan(t *testing.T) {
	testenv.Companion(t)
	each(t, func(t *testing.T, b box) {
		for _, c := range []struct {
			name   string
			change func(tr *testenv.Tree) error
			says   string // with the tree in place of %T; empty: it holds
		}{
			{"nothing", func(*testenv.Tree) error { return nil }, ""},
			{"a file in a root", func(tr *testenv.Tree) error { return os.WriteFile(tr.Path("work/other"), nil, 0o600) }, ""},
			{"a root replaced", func(tr *testenv.Tree) error {
				return firstError(os.Rename(tr.Path("home/secret"), tr.Path("home/was")), os.Mkdir(tr.Path("home/secret"), 0o755))
			}, `deniedRoots "%T/home/secret" was replaced`},
			{"a root that became a link", func(tr *testenv.Tree) error {
				return firstError(os.Rename(tr.Path("home/secret"), tr.Path("home/was")), os.Symlink("was", tr.Path("home/secret")))
			}, `deniedRoots "%T/home/secret": path goes through a symlink`},
			{"a root that became a file", func(tr *testenv.Tree) error {
				return firstError(os.Remove(tr.Path("home/secret")), os.WriteFile(tr.Path("home/secret"), nil, 0o600))
			}, `deniedRoots "%T/home/secret" was a directory, and is a file`},
			{
				"a missing root that came", func(tr *testenv.Tree) error { return os.Mkdir(tr.Path("home/missing"), 0o755) },
				`writableRoots "%T/home/missing" was missing, and is a directory`,
			},
			{"the policy file", func(tr *testenv.Tree) error {
				return os.WriteFile(tr.Path("home/policy.json"), []byte(`{"deniedRoots":[]}`), 0o600)
			}, `policy "%T/home/policy.json" was changed`},
			{"the working directory", func(tr *testenv.Tree) error {
				return firstError(os.Rename(tr.Path("work"), tr.Path("was")), os.Mkdir(tr.Path("work"), 0o777))
			}, `working directory "%T/work" was replaced`},
		} {
			t.Run(c.name, func(t *testing.T) {
				tr := testenv.NewTree(t, b.user)
				tr.Mkdir("home/secret")
				tr.Write("home/policy.json", `{"deniedRoots":["`+tr.Path("home/secret")+`"],"writableRoots":["`+tr.Path("home/missing")+`"]}`)
				plan := b.command(t, tr, append(workFlags(tr), "--policy", tr.Path("home/policy.json")), "true")
				plan.Argv = slices.Insert(plan.Argv, 1, "plan", "--json")
				made := plan.Run(t)
				if made.Status != 0 || made.Stderr != "" {
					t.Fatalf("plan gave %+v", made)
				}
				tr.Write("home/plan.json", made.Stdout)
				if err := c.change(tr); err != nil {
					t.Fatal(err)
				}
				res := b.free(t, tr, testenv.Launcher(t), "plan", "--check", tr.Path("home/plan.json"))
				if c.says == "" {
					if res != (testenv.Result{}) {
						t.Errorf("got %+v, want success and silence", res)
					}
					return
				}
				refused(t, res, "does not hold any more: "+strings.ReplaceAll(c.says, "%T", tr.Path("")), "make a new plan")
			})
		}
	})
}

func firstError(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestCheckedPlanIsAnInput: who could write the plan could write what the harness
// runs next, so one within the command's reach is not taken.
func TestCheckedPlanIsAnInput(t *testing.T) {
	testenv.Companion(t)
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		plan := b.command(t, tr, workFlags(tr), "true")
		plan.Argv = slices.Insert(plan.Argv, 1, "plan", "--json")
		made := plan.Run(t)
		tr.Write("work/plan.json", made.Stdout)
		tr.Write("home/plan.json", made.Stdout)
		check := func(name string) testenv.Result {
			return b.free(t, tr, testenv.Launcher(t), "plan", "--check", tr.Path(name))
		}
		refused(t, check("work/plan.json"), "can be changed by the command", "keep it where")
		if res := check("home/plan.json"); res != (testenv.Result{}) {
			t.Errorf("control: a plan elsewhere gives %+v", res)
		}
		// What it says is not believed.
		var doc map[string]any
		if err := json.Unmarshal([]byte(made.Stdout), &doc); err != nil {
			t.Fatal(err)
		}
		for _, backend := range doc["backends"].([]any) {
			backend.(map[string]any)["gaps"] = []any{"fifo"}
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		tr.Write("home/plan.json", string(text))
		refused(t, check("home/plan.json"), "came out otherwise", "make a new plan")
	})
}
