package integration

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

func init() { faces["pry"] = pryMain }

// leaked is the status with which pry ends when it has seen bob's memory: none
// that a shell or the launcher gives.
const leaked = 33

// pryMain reads files over and over for so many milliseconds, and ends at once,
// with the name, when it reads what bob remembers.
func pryMain(args []string) int {
	ms, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	for end := time.Now().Add(time.Duration(ms) * time.Millisecond); ; {
		for _, file := range args[1:] {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), testenv.BobText) {
				fmt.Println(file)
				return leaked
			}
		}
		if time.Now().After(end) {
			return 0
		}
	}
}

// race is an attack on the paths of a policy while the launcher reads it. Two
// names are exchanged and exchanged back all the time, at moments that are not
// chosen.
//
// What takes the place of a root is always a link, or holds one, so that a
// launcher which looks at that moment must refuse. One that starts the command
// has therefore seen the real tree, and that has to be hidden from then on under
// each of its names: what it saw last counts for the mask as for the rule.
type race struct {
	name    string
	a, b    string // the names that are exchanged, in the tree
	prepare func(tr *testenv.Tree)
	flags   func(tr *testenv.Tree) flags
	read    []string      // where bob's memory may show, besides its own place
	away    time.Duration // how long the names stay exchanged, at most; 0 for a little
	on      []string      // backends
}

var races = []race{
	{
		"the directory above the denied root is renamed", "home/.letta", "home/.decoy",
		func(tr *testenv.Tree) { tr.Mkdir("home/.decoy"); tr.Link(tr.Path("out"), "home/.decoy/agents") },
		crossFlags,
		[]string{"home/.decoy/agents/bob/memory/x.md"},
		0,
		backends,
	},
	{
		"the denied root is renamed, and is a link meanwhile", agents, agents + ".decoy",
		func(tr *testenv.Tree) { tr.Link(tr.Path("out"), agents+".decoy") },
		crossFlags,
		[]string{agents + ".decoy/bob/memory/x.md"},
		0,
		backends,
	},
	{
		"the denied root is a link to bob", agents, agents + ".decoy",
		func(tr *testenv.Tree) { tr.Link("agents.decoy/bob", agents+".decoy") },
		crossFlags,
		[]string{agents + ".decoy/bob/memory/x.md", agents + "/memory/x.md"},
		0,
		backends,
	},
	{
		"the carve-out is a link to bob", alice, alice + ".decoy",
		func(tr *testenv.Tree) { tr.Link("bob", alice+".decoy") },
		crossFlags,
		[]string{alice + "/memory/x.md", alice + ".decoy/memory/x.md"},
		0, backends,
	},
	{
		"the inner carve-out is a link to bob", alice + "/memory", alice + "/memory.decoy",
		func(tr *testenv.Tree) { tr.Link("../bob/memory", alice+"/memory.decoy") },
		memoryFlags,
		[]string{alice + "/memory/x.md", alice + "/memory.decoy/x.md"},
		0, backends,
	},
}

// swap exchanges the two names until stop is closed, and leaves them as they
// were.
func (r race) swap(t *testing.T, tr *testenv.Tree, stop <-chan struct{}) {
	a, b := tr.Path(r.a), tr.Path(r.b)
	exchange := func(stay time.Duration) bool {
		if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
			t.Errorf("exchanging %q and %q: %v", a, b, err)
			return false
		}
		time.Sleep(rand.N(stay))
		return true
	}
	// Half the time everything is as it should be, or nothing starts.
	away := cmp.Or(r.away, 2*time.Millisecond)
	for {
		select {
		case <-stop:
			return
		default:
		}
		if !exchange(away) || !exchange(max(away, 10*time.Millisecond)) {
			return
		}
	}
}

// during runs f while the names are being exchanged.
func (r race) during(t *testing.T, tr *testenv.Tree, f func()) {
	t.Helper()
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() { r.swap(t, tr, stop) })
	defer wait.Wait()
	defer close(stop)
	f()
}

// TestRaces: whatever is renamed while the launcher looks, it refuses or hides
// what the policy denies. CONFINE_RACE says how long all races of one backend and
// user take together; most of the windows are shorter than a millisecond.
func TestRaces(t *testing.T) {
	const least = 3 // of refusals and starts in each race, or nothing was raced
	span := testenv.Span(t, "CONFINE_RACE", 2500*time.Millisecond) / time.Duration(len(races)+len(decoys))
	for _, r := range append(races, decoys...) {
		t.Run(r.name, func(t *testing.T) {
			eachOf(t, r.on, users, func(t *testing.T, b box) {
				tr := testenv.NewTree(t, b.user)
				r.prepare(tr)
				pry := []string{testenv.Helper(t), "pry", "3", tr.Path(bob + "/memory/x.md")}
				for _, name := range r.read {
					pry = append(pry, tr.Path(name))
				}
				began := time.Now()
				started, refusals, leaks := 0, 0, 0
				r.during(t, tr, func() {
					for time.Since(began) < span || (started < least || refusals < least) && time.Since(began) < span+90*time.Second {
						switch res := b.run(t, tr, r.flags(tr), pry...); res.Status {
						case 0:
							started++
						case 125:
							refusals++
						case leaked:
							leaks++
						default:
							t.Errorf("start %d gave %+v, want success or status 125", started+refusals, res)
							return
						}
					}
					if res := b.free(t, tr, pry...); res.Status != leaked {
						t.Errorf("control: reading unconfined during the race gave %+v, want bob's memory", res)
					}
				})
				t.Logf("%d starts, %d refusals, %d leaks in %v", started, refusals, leaks, time.Since(began).Round(time.Millisecond))
				if leaks > 0 {
					t.Errorf("%d of %d commands read bob's memory", leaks, leaks+started)
				}
				if started < least || refusals < least {
					t.Errorf("%d starts and %d refusals, want at least %d of each", started, refusals, least)
				}
			})
		})
	}
}
