package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestPrivateTmp: with bubblewrap the command has a /tmp of its own; Landlock gives
// it a folder of its own, and says that the host's /tmp is still to be seen.
func TestPrivateTmp(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		secret, err := os.MkdirTemp("/tmp", "confine-test")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(secret) })
		if err := os.Chmod(secret, 0o777); err != nil {
			t.Fatal(err)
		}
		name, planted := secret+"/secret", secret+"/planted"
		testenv.WriteFile(t, name, "secret\n", 0o644)
		private := flags{"--mode", "workspace-write", "--tmp", "private"}
		run := func(f flags, script string) testenv.Result {
			t.Helper()
			c := b.command(t, tr, f, "/bin/sh", "-c", script)
			c.Env = []string{"SECRET=" + name, "PLANTED=" + planted, "TMPDIR=" + tr.Path("out")} // where what Landlock leaves is removed
			return c.Run(t)
		}

		reads := map[string]string{"bwrap": "No such file or directory", "landlock": ""}[b.backend]
		if res := run(private, `cat "$SECRET"`); !strings.Contains(res.Stderr, reads) || (res.Stdout == "") != (reads != "") {
			t.Errorf("cat of a file in the host's /tmp = %+v, want %q", res, reads)
		}
		// The mask cannot be taken off, nor gone around.
		for _, script := range []string{`umount /tmp; umount -l /tmp; cat "$SECRET"`, `cat /proc/$PPID/root"$SECRET"`, `cat /proc/1/root"$SECRET"`} {
			if res := run(private, script); reads != "" && (res.Status == 0 || res.Stdout != "") {
				t.Errorf("%s = %+v, want it refused", script, res)
			}
		}
		refused := map[string]string{"bwrap": "Directory nonexistent", "landlock": "Permission denied"}[b.backend]
		if res := run(private, `echo x >"$PLANTED"`); res.Status != 2 || !strings.Contains(res.Stderr, refused) {
			t.Errorf("a file in the host's /tmp = %+v, want %q", res, refused)
		}
		if res := b.free(t, tr, "/bin/sh", "-c", `cat "$1" && echo x >"$2"`, "sh", name, planted); res.Status != 0 || res.Stdout != "secret\n" {
			t.Errorf("control: %+v, want the file read and the other written", res)
		}

		c := b.command(t, tr, append(private, "--report", tr.Path("out/report")), "/bin/sh", "-c",
			`f=$(mktemp) && echo x >"$f" && echo x >file.txt && echo "$TMPDIR $TMP $TEMP $TMPPREFIX" && stat -c %a "$TMPDIR"`)
		c.Env = []string{"TMPDIR=" + tr.Path("tmp")}
		res := c.Run(t)
		if res.Status != 0 || res.Stderr != "" || tr.Read("work/file.txt") != "x\n" {
			t.Fatalf("mktemp and a write to the workspace = %+v", res)
		}
		report, err := os.Open(tr.Path("out/report"))
		if err != nil {
			t.Fatal(err)
		}
		defer report.Close()
		plan := events(t, report)[0]
		left, err := filepath.Glob(tr.Path("tmp") + "/*")
		if err != nil {
			t.Fatal(err)
		}
		dir, mode := "/tmp", "1777"
		if b.backend == "landlock" {
			if len(left) != 1 || !strings.HasPrefix(left[0], tr.Path("tmp")+"/letta-confine-") {
				t.Fatalf("in TMPDIR there is %q, want one folder of the launcher's", left)
			}
			dir, mode = left[0], "700"
		} else if len(left) != 0 {
			t.Errorf("in TMPDIR there is %q, want nothing", left)
		}
		if !slices.Equal(plan.Created, left) || slices.Contains(plan.Gaps, "tmp") != (b.backend == "landlock") {
			t.Errorf("the report has created %q and gaps %q, want %q made", plan.Created, plan.Gaps, left)
		}
		if want := strings.Repeat(dir+" ", 3) + dir + "/zsh\n" + mode + "\n"; res.Stdout != want {
			t.Errorf("the command says %q, want %q", res.Stdout, want)
		}
	})
}

// TestPrivateTmpAndAliases: what is denied below /tmp stays denied on a backend that
// leaves the host's /tmp in sight, and so does the place where it is mounted too.
func TestPrivateTmpAndAliases(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		testenv.Need(t, testenv.FacilityRoot, testenv.HasRoot())
		tr := testenv.NewTree(t, b.user) // below /tmp
		for _, confined := range []bool{true, false} {
			argv := []string{"/bin/sh", "-c", `cat "$1"; cat "$2"`, "sh", tr.Path(bob + "/memory/x.md"), tr.Path("out/sub/bob/memory/x.md")}
			if confined {
				argv = b.command(t, tr, flags{"--mode", "workspace-write", "--tmp", "private", "--deny", tr.Path(agents)}, argv...).Argv
			}
			steps := []string{testenv.Helper(t), "mounted", strconv.Itoa(b.user.UID), strconv.Itoa(b.user.GID), "bind", tr.Path(agents), tr.Path("out/sub"), "", "--"}
			c := testenv.Command{User: testenv.Root, Dir: tr.Path("work"), Home: tr.Home(), Argv: append(steps, argv...)}
			c.Env = []string{"TMPDIR=" + tr.Path("tmp")}
			res := c.Run(t)
			if confined && (res.Status != 1 || res.Stdout != "" || strings.Count(res.Stderr, "Permission denied") != 2) {
				t.Errorf("a denied root and its other place = %+v, want both refused", res)
			}
			if !confined && res.Stdout != testenv.BobText+testenv.BobText {
				t.Errorf("control: %+v, want the file twice", res)
			}
		}
	})
}
