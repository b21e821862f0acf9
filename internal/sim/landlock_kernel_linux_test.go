package sim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// names are those of the directories of a landlockHost: some share their
// beginning, and some would trip whatever took a name for text.
var names = []string{"a", "ab", "b", "new\nline", `quo"te`, `back\slash`, "bad\xff\xfeutf8"}

// landlockHost is a directory with a random tree in it, and the interpreter's
// tree of the same.
type landlockHost struct {
	at   string
	uid  int
	dirs []string
	tree *sim.Tree
	t    *testing.T
	n    int // of the names made so far
}

func newLandlockHost(t *testing.T, rng *rand.Rand, uid int) *landlockHost {
	t.Helper()
	at, err := os.MkdirTemp("", "landlock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(at) })
	h := &landlockHost{at: at, uid: uid, tree: sim.NewTree().Dirs(at), t: t, dirs: []string{at}}
	h.check(os.Chmod(at, 0o755), os.Chown(at, uid, uid))
	for range 3 + rng.IntN(4) {
		dir := h.dirs[rng.IntN(len(h.dirs))] + "/" + names[rng.IntN(len(names))]
		if h.tree.Kind(dir) == policy.Missing {
			h.dir(dir)
			h.dirs = append(h.dirs, dir)
		}
	}
	return h
}

func (h *landlockHost) check(errs ...error) {
	h.t.Helper()
	for _, err := range errs {
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *landlockHost) dir(path string) string {
	h.t.Helper()
	h.check(os.Mkdir(path, 0o755), os.Chown(path, h.uid, h.uid))
	h.tree.Dirs(path)
	return path
}

// file makes a file that is executable and no program.
func (h *landlockHost) file(path string) string {
	h.t.Helper()
	h.check(os.WriteFile(path, []byte("\x00not a program"), 0o755), os.Chown(path, h.uid, h.uid))
	h.tree.Files(path)
	return path
}

// fresh returns a name in dir that nothing has had.
func (h *landlockHost) fresh(dir string) string {
	h.n++
	return fmt.Sprintf("%s/n%d", dir, h.n)
}

// question is something to try, and what the interpreter says will come of it.
type question struct {
	try
	allowed bool
}

// questions asks for every operation in and on every directory. Each has names
// of its own, so that none depends on what became of another.
func (h *landlockHost) questions(rng *rand.Rand, d func() sim.Domain, grants []sim.Grant) []question {
	var tries []try
	add := func(op, path, other string) { tries = append(tries, try{op, path, other}) }
	for _, dir := range h.dirs {
		add("list", dir, "")
		for op := range makes {
			add(op, h.fresh(dir), "")
		}
		for _, op := range []string{"read", "write", "overwrite", "truncate", "execute", "unlink"} {
			add(op, h.file(h.fresh(dir)), "")
		}
		add("create", h.fresh(dir), "")
		add("rmdir", h.dir(h.fresh(dir)), "")
		to := h.dirs[rng.IntN(len(h.dirs))]
		for _, other := range []string{dir, to} {
			add("rename", h.file(h.fresh(dir)), h.fresh(other))
			add("rename", h.file(h.fresh(dir)), h.file(h.fresh(other)))
			add("rename", h.dir(h.fresh(dir)), h.fresh(other))
			add("link", h.file(h.fresh(dir)), h.fresh(other))
		}
	}
	for _, g := range grants {
		if h.tree.Kind(g.Path) == policy.File {
			for _, op := range []string{"read", "write", "overwrite", "truncate", "execute"} {
				add(op, g.Path, "")
			}
			add("link", g.Path, h.fresh(h.dirs[rng.IntN(len(h.dirs))]))
		}
	}
	domain := d()
	var questions []question
	for _, t := range tries {
		questions = append(questions, question{t, h.predict(domain, t)})
	}
	return questions
}

// makes are the right that each way of making something needs in its directory.
var makes = map[string]uint64{
	"make file": sim.MakeReg, "mkdir": sim.MakeDir, "symlink": sim.MakeSym, "make fifo": sim.MakeFifo,
	"make socket": sim.MakeSock, "make char": sim.MakeChar, "make block": sim.MakeBlock,
}

// predict says by the interpreter whether a try succeeds.
func (h *landlockHost) predict(d sim.Domain, t try) bool {
	dir := sim.Above(t.Path)
	if right, ok := makes[t.Op]; ok {
		return d.Allows(dir, right)
	}
	switch t.Op {
	case "list", "read":
		read, _ := d.Access(t.Path)
		return read
	case "write":
		return d.Allows(t.Path, sim.WriteFile)
	case "overwrite":
		_, write := d.Access(t.Path)
		return write
	case "truncate":
		return d.Allows(t.Path, sim.Truncate)
	case "execute":
		return d.Allows(t.Path, sim.Execute|sim.ReadFile) // the kernel opens it for both
	case "create":
		return d.Allows(dir, sim.MakeReg) && d.Allows(t.Path, sim.WriteFile)
	case "unlink":
		return d.Allows(dir, sim.RemoveFile)
	case "rmdir":
		return d.Allows(dir, sim.RemoveDir)
	case "rename":
		return d.Rename(t.Path, t.Other)
	case "link":
		return d.Link(t.Path, t.Other)
	}
	panic(t.Op)
}

// The interpreter and the kernel give the same answers: on random trees under
// random rulesets, each operation is allowed by both or by none. What Landlock
// refuses it refuses with EACCES, or with EXDEV for a move between directories.
func TestLandlockIsLandlock(t *testing.T) {
	all := mediated(t)
	asWhom(t, func(t *testing.T, uid int) {
		const seed = 5
		rng := rand.New(rand.NewPCG(seed, uint64(uid)))
		allowed, refused := 0, 0
		for i := range 40 {
			h := newLandlockHost(t, rng, uid)
			j := job{UID: uid, Handled: randomRights(rng, all)}
			for range 1 + rng.IntN(6) {
				g := sim.Grant{Path: h.dirs[rng.IntN(len(h.dirs))], Rights: randomRights(rng, j.Handled)}
				switch rng.IntN(8) {
				case 0:
					g.Path = "/"
				case 1, 2:
					if g.Rights &= sim.Execute | sim.ReadFile | sim.WriteFile | sim.Truncate; g.Rights == 0 {
						continue
					}
					g.Path = h.file(h.fresh(g.Path))
				}
				j.Grants = append(j.Grants, g)
			}
			questions := h.questions(rng, func() sim.Domain {
				d, err := sim.Landlock(j.Handled, j.Grants, h.tree)
				h.check(err)
				return d
			}, j.Grants)
			for _, q := range questions {
				j.Tries = append(j.Tries, q.try)
			}
			a := j.run(t)
			if a.Errno != 0 {
				t.Fatalf("seed %d, case %d: %s: %v\n%v", seed, i, a.Step, a.Errno, j.Grants)
			}
			for k, q := range questions {
				if a.Tries[k] == 0 {
					allowed++
				} else {
					refused++
				}
				if got := a.Tries[k]; (got == 0) != q.allowed || got != 0 && got != syscall.EACCES && got != syscall.EXDEV {
					t.Errorf("seed %d, case %d: %s %q %q: kernel %v, interpreter allows %v\nhandled %#x %v",
						seed, i, q.Op, strings.TrimPrefix(q.Path, h.at), strings.TrimPrefix(q.Other, h.at), got, q.allowed, j.Handled, j.Grants)
				}
			}
			if t.Failed() {
				return
			}
		}
		t.Logf("%d operations allowed and %d refused", allowed, refused)
		if allowed < 1000 || refused < 1000 {
			t.Error("want a thousand of each or more")
		}
	})
}

// randomRights is a part of the rights, never none, most often the larger one.
func randomRights(rng *rand.Rand, of uint64) uint64 {
	for {
		rights := of & (rng.Uint64() | rng.Uint64())
		if rng.IntN(4) == 0 {
			rights = of
		}
		if rights != 0 {
			return rights
		}
	}
}
