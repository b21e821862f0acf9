package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
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
