package containment

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// twice makes calls in one run, and then others in a second.
func twice(first []string, policy func(*testenv.Tree) flags, second ...string) func(w world) string {
	return func(w world) string {
		w.t.Helper()
		answers := w.calls(first...)
		if policy != nil {
			w = w.under(policy)
		}
		return answers + " " + w.calls(second...)
	}
}

// TestMovedTree: a run must not move the tree to where the next one does not
// mask it.
func TestMovedTree(t *testing.T) {
	run(t, false, "moving the tree", []attack{
		{
			name: "move the parent",
			do:   twice([]string{"rename home/.letta home/x", "mkdir home/.letta"}, nil, "read home/x/agents/bob/memory/x.md"),
			want: either(held("EBUSY EEXIST ENOENT"), held("EACCES EEXIST ENOENT")),
		},
		{
			name: "move the home",
			do:   twice([]string{"rename home away", "mkdir home"}, nil, "read away/.letta/agents/bob/memory/x.md"),
			want: either(held("EBUSY EEXIST ENOENT"), held("EACCES EEXIST ENOENT")),
		},
		{
			name:    "exchange the parent for another",
			prepare: mkdirs("home/x"),
			do:      twice([]string{"exchange home/x home/.letta"}, nil, "read home/x/agents/bob/memory/x.md"),
			want:    either(held("EBUSY ENOENT"), held("EACCES ENOENT")),
		},
		{
			name: "leave a link in its place",
			do:   twice([]string{"rename home/.letta home/x", "symlink =x home/.letta"}, nil, "read home/x/agents/bob/memory/x.md"),
			want: either(held("EBUSY EEXIST ENOENT"), held("EACCES EEXIST ENOENT")),
		},
		{
			name:   "move what is read-only and make it anew",
			policy: protect(func(*testenv.Tree) flags { return nil }, "--read-only", "out/sub"),
			do:     twice([]string{"rename out/sub out/x", "mkdir out/sub"}, nil, "append out/x/deep.txt"),
			want:   either(held("EBUSY EEXIST ENOENT"), held("EACCES EEXIST ENOENT")),
		},
	})
}

// TestPlantedLinks: a run must not leave a link that leads the next run's
// carve-out to another agent.
func TestPlantedLinks(t *testing.T) {
	plant := []string{"rename " + alice + "/memory " + alice + "/m2", "symlink =../bob/memory " + alice + "/memory"}
	run(t, false, "planted links", []attack{
		{name: "cross plants, memory reads", do: twice(plant, memory, "read "+alice+"/memory/x.md"), want: everywhere(held("ok ok refused"))},
		{name: "cross plants, memory writes", do: twice(plant, memory, "append "+alice+"/memory/x.md"), want: everywhere(held("ok ok refused"))},
		{
			name: "the carve-out itself becomes a link", do: twice([]string{"rename " + alice + " " + agents + "/a2", "symlink =bob " + alice}, nil, "read "+alice+"/memory/x.md"),
			want: either(held("EROFS EEXIST ok"), held("EACCES EEXIST ok")), // her own
		},
		{
			name: "a writable root becomes a link", policy: func(tr *testenv.Tree) flags { return append(work(tr), "--writable", tr.Path("work/sub")) },
			do:   twice([]string{"rename work/sub work/x", "symlink =../out work/sub"}, nil, "append work/sub/file.txt"),
			want: either(held("ok ok refused"), held("ok ok refused")),
		},
	})
}

// TestSwappedBeforeStart: what lies at a root when the launcher resolves it is
// what counts, and a link that the command could have put there is refused.
func TestSwappedBeforeStart(t *testing.T) {
	swap := func(steps ...[2]string) func(t *testing.T, tr *testenv.Tree) {
		return func(t *testing.T, tr *testenv.Tree) {
			for _, s := range steps {
				if err := os.Rename(tr.Path(s[0]), tr.Path(s[0]+"-was")); err != nil {
					t.Fatal(err)
				}
				tr.Link(s[1], s[0])
			}
		}
	}
	run(t, false, "swapped before the start", []attack{
		{
			name: "the denied root's parent", prepare: func(t *testing.T, tr *testenv.Tree) {
				tr.Mkdir("home/e/agents/alice/memory")
				swap([2]string{"home/.letta", "e"})(t, tr)
			},
			calls: []string{"read home/.letta-was/agents/bob/memory/x.md"}, want: everywhere(held("refused")),
		},
		{name: "the carve-out", policy: memory, prepare: swap([2]string{alice + "/memory", "../bob/memory"}), calls: []string{"read " + alice + "/memory/x.md"}, want: everywhere(held("refused"))},
		{name: "the agent's directory", prepare: swap([2]string{alice, "bob"}), calls: []string{"read " + alice + "/memory/x.md"}, want: everywhere(held("refused"))},
	})
}

// TestRace: a process outside swaps the carve-out for a link, and back, while
// launchers start. Whatever they find, they never show another agent.
func TestRace(t *testing.T) {
	t.Parallel()
	each(t, false, "swapped before the start", "a race of swaps and starts", func(t *testing.T, b box) string {
		a := attack{policy: memory}
		for _, confined := range []bool{true, false} {
			w := a.world(t, b, confined)
			w.tree.Link("../bob/memory", alice+"/link")
			stop, stopped := make(chan bool), make(chan bool)
			go func() {
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					default:
						unix.Renameat2(unix.AT_FDCWD, w.tree.Path(alice+"/link"), unix.AT_FDCWD, w.tree.Path(alice+"/memory"), unix.RENAME_EXCHANGE)
						time.Sleep(time.Millisecond)
					}
				}
			}()
			seen := map[string]int{}
			for range 40 {
				res := w.run("sh", "-c", `for i in 1 2 3 4 5 6 7 8; do cat "$0"; done`, w.tree.Path(alice+"/memory/x.md"))
				for _, text := range []string{testenv.AliceText, testenv.BobText} {
					if strings.Contains(res.Stdout, text) {
						seen[text]++
					}
				}
			}
			close(stop)
			<-stopped
			if confined && seen[testenv.BobText] > 0 || !confined && seen[testenv.BobText] == 0 {
				t.Errorf("confined %v: bob's memory was seen in %d of 40 runs, alice's in %d", confined, seen[testenv.BobText], seen[testenv.AliceText])
			}
		}
		return "held"
	})
}
