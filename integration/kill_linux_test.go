package integration

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// generation is a process of a run by its distance from the test.
type generation int

const (
	theLauncher generation = iota
	theBubblewrap
	theCommand // or the inner stage before it
)

func (g generation) String() string {
	return [...]string{"the launcher", "bubblewrap", "the inner stage or command"}[g]
}

// TestKilledAtAnyMoment: an inner stage or a command that is killed, and a
// launcher on Landlock, which becomes the command, leaves no process behind, and
// of files at most the empty directories that the report calls created.
// CONFINE_KILLS says how many are killed in all.
func TestKilledAtAnyMoment(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		whom := map[string]generation{"bwrap": theCommand, "landlock": theLauncher}[b.backend]
		b.killed(t, 500, false, whom)
	})
}

// killed starts runs and kills one of the given generations in each. With strict
// nothing may stay that the report does not call created.
func (b box) killed(t *testing.T, usual int, strict bool, choice ...generation) {
	boxes := len(backends) * len(users)
	tr := testenv.NewTree(t, b.user)
	before := tr.Snapshot()
	hit := make(map[generation]int)
	for i := range (testenv.Count(t, "CONFINE_KILLS", usual) + boxes - 1) / boxes {
		v := b.victim(t, tr, i)
		v.strike(rand.N(30*time.Millisecond), choice[rand.IntN(len(choice))])
		hit[v.hit]++
		for _, dir := range v.left(before) {
			if (v.planned || strict) && !slices.Contains(v.created, dir) {
				t.Errorf("try %d: after %v was killed %q is there, and the report calls %q created", i, v.hit, dir, v.created)
			}
			if err := os.Remove(dir); err != nil {
				t.Errorf("try %d: what stayed is more than an empty directory: %v", i, err)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("killed: %v", hit)
	after := tr.Snapshot()
	for path, was := range before {
		if is := after[path]; is != was && path != tr.Path("work") { // whose time changed
			t.Errorf("%q was %s, is %s", path, was, is)
		}
	}
}

// victim is a run that is to be killed. It is a process group of its own, so
// that whatever belongs to it can be found afterwards.
type victim struct {
	t       *testing.T
	tr      *testenv.Tree
	pid     int
	wait    func() error
	report  *os.File
	hit     generation // what was killed
	planned bool       // whether the report has a plan
	created []string   // as the report has it
}

// victim starts a command that would live long, with denied and readonly roots
// that are missing.
func (b box) victim(t *testing.T, tr *testenv.Tree, i int) *victim {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f := flags{
		"--report", "fd:3", "--deny", tr.Path(fmt.Sprintf("work/later-%d/deep", i)), "--read-only", tr.Path(fmt.Sprintf("work/fixed-%d", i)),
		"--deny", tr.Path(agents), "--writable", tr.Path(alice),
	}
	c := b.command(t, tr, f, "sleep", "60")
	c.Files = []*os.File{w}
	cmd := c.Cmd(soon(t))
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &victim{t: t, tr: tr, pid: cmd.Process.Pid, wait: cmd.Wait, report: r}
}

// strike kills one process of the run some time after it came to be, and waits
// for the end of all.
func (v *victim) strike(after time.Duration, whom generation) {
	v.t.Helper()
	var pids []int
	eventually(v.t, fmt.Sprintf("%v is there", whom), func() bool { pids = family(v.t, v.pid); return len(pids) > int(whom) })
	v.hit = whom
	time.Sleep(after)
	unix.Kill(pids[v.hit], unix.SIGKILL)
	v.wait()
	for began := time.Now(); len(group(v.t, v.pid)) > 0; time.Sleep(2 * time.Millisecond) {
		waited := time.Since(began)
		if waited > 2*time.Second && v.hit == theLauncher && stuck(group(v.t, v.pid)) {
			v.t.Logf("bubblewrap's own child waits for its killed parent (docs/limits.md)")
			unix.Kill(-v.pid, unix.SIGKILL)
			break
		}
		if waited > patience {
			v.t.Errorf("after %v was killed %v is still there %v later", v.hit, group(v.t, v.pid), patience)
			unix.Kill(-v.pid, unix.SIGKILL)
			break
		}
	}
	for _, e := range events(v.t, v.report) {
		if e.Event == "plan" {
			v.planned, v.created = true, e.Created
		}
	}
	v.report.Close()
}

// stuck reports whether all that is left is one bubblewrap that has not come to
// start the inner stage: killed between making its child and telling it to go on,
// bubblewrap 0.8 leaves the child waiting for good.
func stuck(lines []string) bool {
	return len(lines) == 1 && strings.Contains(lines[0], "bwrap --args ")
}

// group returns the command lines of the processes in a group that have not
// ended. One that nobody has waited for has.
func group(t *testing.T, pgid int) (lines []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil || e.Name()[0] > '9' {
			continue
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // state, parent, group
		if len(fields) > 2 && fields[2] == strconv.Itoa(pgid) && fields[0] != "Z" && fields[0] != "X" {
			line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
			lines = append(lines, e.Name()+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return lines
}

// left returns what is in the tree and was not, the deepest first.
func (v *victim) left(before map[string]string) (left []string) {
	v.t.Helper()
	err := filepath.WalkDir(v.tr.Dir, func(path string, _ fs.DirEntry, err error) error {
		if _, ok := before[path]; !ok {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		v.t.Fatal(err)
	}
	slices.SortFunc(left, func(a, b string) int { return strings.Compare(b, a) })
	return left
}

// patience is how long a busy host may take for what it does in a moment otherwise.
const patience = 15 * time.Second

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v it does not hold that %s", patience, what)
		}
	}
}
