package containment

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestMain runs the tests, or is the helper that tests start inside a sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if face, ok := faces[os.Args[1]]; ok {
			runtime.LockOSThread() // mount namespaces and traced children belong to a thread
			os.Exit(face(os.Args[2:]))
		}
	}
	status := testenv.Main(m)
	verdicts.print()
	os.Exit(status)
}

// faces are what the helper can do.
var faces = map[string]func(args []string) int{
	"calls":  callsMain,
	"stage":  stageMain,
	"victim": victimMain,
}

// box is one backend and one user.
type box struct {
	backend string
	user    testenv.User
}

func (b box) String() string { return b.backend + "/" + b.user.Name }

// boxes are the columns of the table.
var boxes = []box{
	{"bwrap", testenv.Root}, {"bwrap", testenv.Plain}, {"landlock", testenv.Root}, {"landlock", testenv.Plain},
}

// each runs f as a subtest in every box, in parallel, and notes the verdict that
// it returns. What wants only uid 0 is asked of no other.
func each(t *testing.T, rootOnly bool, class, name string, f func(t *testing.T, b box) string) {
	t.Helper()
	for _, b := range boxes {
		if rootOnly && b.user.UID != 0 {
			continue
		}
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			verdict := ""
			defer func() {
				switch {
				case t.Skipped():
					verdict = "skipped"
				case t.Failed() || verdict == "":
					verdict = "FAILED"
				}
				verdicts.add(class, name, b, verdict)
			}()
			testenv.NeedBackend(t, b.backend, b.user)
			verdict = f(t, b)
		})
	}
}

// flags are launcher flags.
type flags []string

const (
	agents = "home/.letta/agents"
	alice  = agents + "/alice"
	bob    = agents + "/bob"
	secret = bob + "/memory/x.md"
)

// cross hides the other agents, as the cross-agent profile does.
func cross(tr *testenv.Tree) flags {
	return flags{"--deny", tr.Path(agents), "--writable", tr.Path(alice)}
}

// memory is what a memory subagent gets.
func memory(tr *testenv.Tree) flags {
	return flags{
		"--restrict-writes", "--base-writable", tr.Path("home/.letta"), "--deny", tr.Path(agents),
		"--read-only", tr.Path(alice), "--writable", tr.Path(alice + "/memory"),
	}
}

// work restricts writes to the workspace.
func work(tr *testenv.Tree) flags {
	return flags{"--restrict-writes", "--writable", tr.Path("work")}
}

// with adds flags to a policy.
func with(policy func(*testenv.Tree) flags, more ...string) func(*testenv.Tree) flags {
	return func(tr *testenv.Tree) flags { return append(policy(tr), more...) }
}

// protect adds flags that take a path of the tree.
func protect(policy func(*testenv.Tree) flags, flag, name string) func(*testenv.Tree) flags {
	return func(tr *testenv.Tree) flags { return append(policy(tr), flag, tr.Path(name)) }
}

// world is where an attack happens: a tree, and the launcher or nothing between
// it and the host.
type world struct {
	t        *testing.T
	box      box
	tree     *testenv.Tree
	confined bool
	policy   func(tr *testenv.Tree) flags
	env      []string // added to the environment
}

// command is a process in this world.
func (w world) command(argv ...string) testenv.Command {
	w.t.Helper()
	if w.confined {
		line := append([]string{testenv.Launcher(w.t), "--quiet", "--backend", w.box.backend}, w.policy(w.tree)...)
		argv = append(append(line, "--"), argv...)
	}
	return testenv.Command{User: w.box.user, Dir: w.tree.Path("work"), Home: w.tree.Home(), Env: w.env, Argv: argv}
}

// run runs a process in this world.
func (w world) run(argv ...string) testenv.Result {
	w.t.Helper()
	return w.command(argv...).Run(w.t)
}

// under is the same world with another policy.
func (w world) under(policy func(tr *testenv.Tree) flags) world {
	w.policy = policy
	return w
}

// calls makes system calls in one process of this world and returns what each
// answers. A call is a name and its arguments, separated by spaces; an argument
// is a path of the tree, or with a "=" before it taken as it is.
func (w world) calls(calls ...string) string {
	w.t.Helper()
	return w.answers(w.command(w.args(calls...)...))
}

func (w world) args(calls ...string) []string {
	argv := []string{testenv.Helper(w.t), "calls"}
	for _, c := range calls {
		for i, word := range strings.Split(c, " ") {
			if literal, ok := strings.CutPrefix(word, "="); ok || i == 0 {
				argv = append(argv, literal)
			} else {
				argv = append(argv, w.tree.Path(word))
			}
		}
	}
	return argv
}

// answers runs a command that prints answers.
func (w world) answers(c testenv.Command) string {
	w.t.Helper()
	return words(w.t, c.Run(w.t))
}

// words are the answers of a process: "refused" where the launcher ran nothing,
// and the signal where one ended it.
func words(t *testing.T, res testenv.Result) string {
	t.Helper()
	switch {
	case res.Status == 125:
		return "refused"
	case res.Status > 128:
		return strings.TrimSpace(strings.Join(strings.Fields(res.Stdout), " ") + fmt.Sprintf(" signal-%d", res.Status-128))
	case res.Status != 0:
		t.Fatalf("the calls gave %+v", res)
	}
	return strings.Join(strings.Fields(res.Stdout), " ")
}
