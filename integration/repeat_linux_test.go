package integration

import (
	"fmt"
	"os"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestConfinementIsNoMatterOfThreads: a Landlock domain belongs to a thread, and
// a Go program has many. Were the command started from another one, it would be
// free, now and then.
func TestConfinementIsNoMatterOfThreads(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for i := range 50 {
			c := b.command(t, tr, workFlags(tr), "touch", tr.Path(fmt.Sprintf("out/free-%d", i)))
			c.Env = []string{"GOMAXPROCS=8"}
			if res := c.Run(t); res.Status != 1 {
				t.Fatalf("run %d gave %+v, want status 1", i, res)
			}
		}
		entries, err := os.ReadDir(tr.Path("out"))
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != 2 {
			t.Errorf("the place outside holds %v, want nothing new", entries)
		}
		if res := b.free(t, tr, "touch", tr.Path("out/free")); res.Status != 0 {
			t.Errorf("control: %+v", res)
		}
	})
}

// TestNothingIsLeftBehind: runs that succeed and that deny leave no stub, mount
// point or lock.
func TestNothingIsLeftBehind(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		before := tr.Snapshot()
		for _, f := range []flags{crossFlags(tr), memoryFlags(tr), workFlags(tr), {"--deny", tr.Path("out/file.txt")}, {"--read-only", tr.Path("out")}} {
			b.run(t, tr, f, "true")
			b.run(t, tr, f, "cat", tr.Path(bob+"/memory/x.md"))
			b.run(t, tr, f, "/no/such")
			b.run(t, tr, f, "sh", "-c", "kill -9 $$")
		}
		tr.Changed(before)
	})
}
