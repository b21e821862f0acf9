package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/internal/testenv"
	"github.com/letta-confine/letta-confine/landlock"
)

// TestSetUserID: a set-user-id program gains nothing in a sandbox, and the launcher
// says so where the command itself is one; of others, and with --quiet, it is silent.
func TestSetUserID(t *testing.T) {
	testenv.Need(t, testenv.FacilityRoot, testenv.HasRoot())
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		id, err := os.ReadFile("/usr/bin/id")
		if err != nil {
			t.Fatal(err)
		}
		program := tr.Path("out/id")
		if err := os.WriteFile(program, id, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(program, 0, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(program, 0o755|os.ModeSetuid); err != nil {
			t.Fatal(err)
		}
		if free := b.free(t, tr, program, "-u"); free.Stdout != "0\n" {
			t.Fatalf("unconfined, it runs as %+v, want 0", free)
		}
		own := b.free(t, tr, "id", "-u").Stdout
		res := b.run(t, tr, workFlags(tr), program, "-u")
		if res.Status != 0 || res.Stdout != own {
			t.Errorf("confined, it runs as %+v, want %q", res, own)
		}
		warned := strings.HasPrefix(res.Stderr, "letta-confine: warning: command ") && strings.Contains(res.Stderr, "no_new_privs")
		if want := b.user.UID != 0; warned != want || !want && res.Stderr != "" {
			t.Errorf("it says %q, want a warning: %v", res.Stderr, want)
		}
		for _, quiet := range [][]string{{"id", "-u"}, {"sh", "-c", program + " -u"}} {
			if res := b.run(t, tr, workFlags(tr), quiet...); res.Stderr != "" || res.Stdout != own {
				t.Errorf("%q gave %+v, want no warning", quiet, res)
			}
		}
		if res := b.run(t, tr, append(workFlags(tr), "--quiet"), program, "-u"); res.Stderr != "" {
			t.Errorf("with --quiet it says %q", res.Stderr)
		}
	})
}

// TestSetUserIDLauncher: a launcher that was installed set-user-id gives nobody the
// rights of its owner, by way of a stage neither, whose plan its caller writes.
func TestSetUserIDLauncher(t *testing.T) {
	testenv.Need(t, testenv.FacilityRoot, testenv.HasRoot())
	eachOn(t, "landlock", func(t *testing.T, b box) {
		if b.user.UID == 0 {
			return // who has nothing to gain
		}
		tr := testenv.NewTree(t, b.user)
		setUserID := func(from, name string) string {
			program, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			to := tr.Path("out/" + name)
			testenv.WriteFile(t, to, string(program), 0o755)
			if err := os.Chown(to, 0, 0); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(to, 0o755|os.ModeSetuid); err != nil {
				t.Fatal(err)
			}
			return to
		}
		if free := b.free(t, tr, setUserID("/usr/bin/id", "id"), "-u"); free.Stdout != "0\n" {
			t.Fatalf("unconfined, a set-user-id program runs as %+v, want 0", free)
		}
		root, err := hostfs.FS{}.Lstat("/")
		if err != nil {
			t.Fatal(err)
		}
		const all = 1<<13 - 1 // rights of ABI 1
		plan := inner.Plan{Dir: "/", DirID: root.ID, Bare: true, Layer: landlock.Ruleset{
			ABI: 1, Handled: all, Grants: []landlock.Grant{{Path: "/", Rights: all, ID: root.ID}},
		}}
		own := b.free(t, tr, "id", "-u").Stdout
		if free := b.free(t, tr, append(plan.Words(testenv.Launcher(t)), "id", "-u")...); free.Stdout != own {
			t.Fatalf("without the bit, the stage gave %+v, want %q", free, own)
		}
		raised := setUserID(testenv.Launcher(t), "launcher")
		for _, argv := range [][]string{plan.Words(raised), {raised, "--restrict-writes", "--"}, {raised, "landlock-run", "--rw", "/", "--"}} {
			res := b.free(t, tr, append(argv, "id", "-u")...)
			if res.Status != 125 || res.Stdout != "" || !strings.Contains(res.Stderr, "set-user-id") {
				t.Errorf("%.40q gave %+v, want 125", argv, res)
			}
		}
	})
}
