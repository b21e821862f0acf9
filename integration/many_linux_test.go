package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestManyAtOnce: a hundred runs at a time, each with a policy of its own, half
// of them with a missing denied root in common. Each has exactly its own view,
// and nothing is left but what a report says.
func TestManyAtOnce(t *testing.T) {
	const runs, rooms = 100, 10
	for _, user := range users {
		t.Run(user.Name, func(t *testing.T) {
			for _, backend := range backends {
				testenv.NeedBackend(t, backend, user)
			}
			tr := testenv.NewTree(t, user)
			argv := []string{testenv.Helper(t), "calls"}
			for i := range rooms {
				tr.Write(fmt.Sprintf("out/room-%d/secret", i), "secret")
				argv = append(argv, "read", tr.Path(fmt.Sprintf("out/room-%d/secret", i)), "append", tr.Path(fmt.Sprintf("out/room-%d/secret", i)))
			}
			before := tr.Snapshot()
			var (
				wait    sync.WaitGroup
				lock    sync.Mutex
				created []string
			)
			for i := range runs {
				b := box{backends[i%2], user}
				shared := i%4 < 2
				f, want := manyPolicy(tr, b, i%rooms, (i/rooms)%rooms, shared)
				argv := argv
				if shared && b.backend == "bwrap" { // in Landlock it may be there or not
					argv = append(slices.Clone(argv), "create", tr.Path("work/later/new"))
					want += " EROFS"
				}
				wait.Go(func() {
					res, list := b.reported(t, tr, f, argv...)
					if got := strings.Join(strings.Fields(res.Stdout), " "); got != want || res.Status != 0 || res.Stderr != "" {
						t.Errorf("run %d in %s: status %d, %q\n got %s\nwant %s", i, b.backend, res.Status, res.Stderr, got, want)
					}
					lock.Lock()
					defer lock.Unlock()
					for _, e := range list {
						created = append(created, e.Created...)
					}
				})
			}
			wait.Wait()
			if tr.Exists("work/later") {
				if !slices.Contains(created, tr.Path("work/later")) {
					t.Error("the shared root stays, and no report says so")
				}
				if err := os.Remove(tr.Path("work/later")); err != nil {
					t.Errorf("what stays is more than an empty directory: %v", err)
				}
			}
			after := tr.Snapshot()
			delete(before, tr.Path("work")) // whose time changed
			delete(after, tr.Path("work"))
			for path, is := range after {
				if was, ok := before[path]; ok && strings.HasSuffix(path, "/secret") {
					continue // appended to
				} else if was != is {
					t.Errorf("%q was %q, is %q", path, was, is)
				}
			}
			if len(after) != len(before) {
				t.Errorf("the tree has %d files, want %d as before", len(after), len(before))
			}
		})
	}
}

// manyPolicy hides one room and keeps another from being written, and returns
// what the calls then answer.
func manyPolicy(tr *testenv.Tree, b box, hide, keep int, shared bool) (f flags, want string) {
	room := func(i int) string { return tr.Path(fmt.Sprintf("out/room-%d", i)) }
	f = flags{"--deny", room(hide)}
	if keep != hide {
		f = append(f, "--read-only", room(keep))
	}
	var answers []string
	for i := range 10 {
		switch i {
		case hide:
			answers = append(answers, hidden.errno(b.backend), hidden.errno(b.backend))
		case keep:
			answers = append(answers, "ok", readOnly.errno(b.backend))
		default:
			answers = append(answers, "ok", "ok")
		}
	}
	if shared {
		f = append(f, "--deny", tr.Path("work/later"))
	}
	return f, strings.Join(answers, " ")
}
