package integration

import (
	"os"
	"runtime"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestMain runs the tests, or is the helper that tests start inside a sandbox:
// a domain cannot be left, so what happens in one happens in a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if face, ok := faces[os.Args[1]]; ok {
			runtime.LockOSThread() // a signal mask belongs to a thread
			os.Exit(face(os.Args[2:]))
		}
	}
	os.Exit(testenv.Main(m))
}

// faces are what the helper can do.
var faces = map[string]func(args []string) int{
	"calls":  callsMain,
	"names":  namesMain,
	"search": searchMain,
	"state":  stateMain,
	"sleep":  sleepMain,
	"with":   withMain,
}

// box is one backend and one user.
type box struct {
	backend string
	user    testenv.User
}

var (
	backends = []string{"bwrap", "landlock"}
	users    = []testenv.User{testenv.Root, testenv.Plain}
)

// each runs f as a subtest for every backend and user, in parallel.
func each(t *testing.T, f func(t *testing.T, b box)) { eachOf(t, backends, users, f) }

// eachOn is each for one backend alone.
func eachOn(t *testing.T, backend string, f func(t *testing.T, b box)) {
	eachOf(t, []string{backend}, users, f)
}

// eachAsRoot is each for what only uid 0 could do without the launcher.
func eachAsRoot(t *testing.T, f func(t *testing.T, b box)) {
	eachOf(t, backends, []testenv.User{testenv.Root}, f)
}

func eachOf(t *testing.T, backends []string, users []testenv.User, f func(t *testing.T, b box)) {
	t.Helper()
	t.Parallel()
	for _, backend := range backends {
		for _, user := range users {
			t.Run(backend+"/"+user.Name, func(t *testing.T) {
				t.Parallel()
				testenv.NeedBackend(t, backend, user)
				f(t, box{backend, user})
			})
		}
	}
}

// flags are launcher flags.
type flags []string

// crossFlags hide the other agents, as the cross-agent profile does.
func crossFlags(tr *testenv.Tree) flags {
	return flags{"--deny", tr.Path("home/.letta/agents"), "--writable", tr.Path("home/.letta/agents/alice")}
}

// memoryFlags are those of a memory subagent.
func memoryFlags(tr *testenv.Tree) flags {
	return flags{
		"--restrict-writes", "--base-writable", tr.Path("home/.letta"), "--deny", tr.Path("home/.letta/agents"),
		"--read-only", tr.Path("home/.letta/agents/alice"), "--writable", tr.Path("home/.letta/agents/alice/memory"),
	}
}

// workFlags restrict writes to the workspace.
func workFlags(tr *testenv.Tree) flags {
	return flags{"--restrict-writes", "--writable", tr.Path("work")}
}

// command is a launcher run in the tree's workspace.
func (b box) command(t testing.TB, tr *testenv.Tree, f flags, argv ...string) testenv.Command {
	t.Helper()
	line := append([]string{testenv.Launcher(t), "--backend", b.backend}, f...)
	return testenv.Command{
		User: b.user, Dir: tr.Path("work"), Home: tr.Home(),
		Argv: append(append(line, "--"), argv...),
	}
}

// run runs a command confined.
func (b box) run(t testing.TB, tr *testenv.Tree, f flags, argv ...string) testenv.Result {
	t.Helper()
	return b.command(t, tr, f, argv...).Run(t)
}

// free runs a command as the same user without the launcher.
func (b box) free(t testing.TB, tr *testenv.Tree, argv ...string) testenv.Result {
	t.Helper()
	return testenv.Command{User: b.user, Dir: tr.Path("work"), Home: tr.Home(), Argv: argv}.Run(t)
}
