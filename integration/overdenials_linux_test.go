package integration

import (
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestOwners: as a user, in bubblewrap's user namespace, root's files seem to belong to nobody.
func TestOwners(t *testing.T) {
	eachOf(t, []string{"bwrap"}, []testenv.User{testenv.Plain}, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		owner := []string{"stat", "-c", "%u", "/etc"}
		if res := b.free(t, tr, owner...); res.Stdout != "0\n" {
			t.Fatalf("control: unconfined, /etc is of %+v, want 0", res)
		}
		if res := b.run(t, tr, workFlags(tr), owner...); res.Stdout != "65534\n" {
			t.Errorf("/etc is of %+v, want 65534", res)
		}
	})
}

// TestDirectoriesAbove: Landlock takes what is above a denied root from list and
// extension, and what is above a readonly one from extension; bubblewrap does not.
func TestDirectoriesAbove(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		for root, refused := range map[string][2]bool{"--deny": {true, true}, "--read-only": {false, true}} {
			tr := testenv.NewTree(t, b.user)
			tr.Write("work/carved/x", "x")
			f := append(workFlags(tr), root, tr.Path("work/carved"))
			got := b.calls(t, tr, f, row{call: "list", paths: "work"}, row{call: "create", paths: "work/new"})
			for i, call := range []string{"list", "create"} {
				want := "ok"
				if refused[i] && b.backend == "landlock" {
					want = "EACCES"
				}
				if got[i] != want {
					t.Errorf("%s: %s above it = %s, want %s", root, call, got[i], want)
				}
			}
		}
	})
}
