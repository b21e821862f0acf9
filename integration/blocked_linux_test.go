package integration

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestRootBelowAFile: nothing can be there unless the file goes away, and the
// file cannot.
func TestRootBelowAFile(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		root := tr.Path("work/file.txt/below")
		res, list := b.reported(t, tr, append(workFlags(tr), "--deny", root), testenv.Helper(t), "calls",
			"unlink", tr.Path("work/file.txt"), "rename", tr.Path("work/file.txt"), tr.Path("work/moved"), "read", tr.Path("work/file.txt"))
		if res.Status != 0 || res.Stderr != "" {
			t.Fatalf("a denied root below a file gave %+v, want success", res)
		}
		if got, want := strings.Join(strings.Fields(res.Stdout), " "), strings.Join([]string{pinnedRoot.errno(b.backend), pinnedRoot.errno(b.backend), "ok"}, " "); got != want {
			t.Errorf("removing, renaming and reading the file = %s, want %s", got, want)
		}
		if !list[0].skips(root, "not a directory") {
			t.Errorf("skipped roots are %+v, want %q", list[0].Skipped, root)
		}
		if free := b.free(t, tr, testenv.Helper(t), "calls", "unlink", tr.Path("work/file.txt")); free.Stdout != "ok\n" {
			t.Errorf("control: removing the file = %+v", free)
		}
	})
}
