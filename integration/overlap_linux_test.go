package integration

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/testenv"
)

func init() { faces["serve"] = serveMain }

// serveMain makes the calls that it is asked for, line by line, until the end of
// its input: a command with which a test can talk.
func serveMain([]string) int {
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		callsMain(strings.Split(lines.Text(), "\t"))
	}
	return 0
}

// talk is a confined command that makes calls when it is asked.
type talk struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	report *os.File
}

// serve starts such a command.
func (b box) serve(t *testing.T, tr *testenv.Tree, f flags) *talk {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := b.command(t, tr, append(flags{"--report", "fd:3"}, f...), testenv.Helper(t), "serve")
	c.Files = []*os.File{w}
	return talkTo(t, c, r)
}

// talkTo starts a command that serves.
func talkTo(t *testing.T, c testenv.Command, r *os.File) *talk {
	t.Helper()
	cmd := c.Cmd(soon(t))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k := &talk{t, cmd, in, bufio.NewReader(out), r}
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait(); r.Close() })
	if line, err := k.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the command said %q, %v", line, err)
	}
	return k
}

// ask returns the errno of one call.
func (k *talk) ask(words ...string) string {
	k.t.Helper()
	if _, err := fmt.Fprintln(k.in, strings.Join(words, "\t")); err != nil {
		k.t.Fatal(err)
	}
	line, err := k.out.ReadString('\n')
	if err != nil {
		k.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// end ends the command and returns the events of its run.
func (k *talk) end() []event {
	k.t.Helper()
	k.in.Close()
	if err := k.cmd.Wait(); err != nil {
		k.t.Errorf("the command ended with %v", err)
	}
	return events(k.t, k.report)
}

// TestOverlappingRuns: two runs deny a root that is not there. One made it to put
// a mask on it; while another has a mask there it must stay, because its removal
// would take that mask off, and everything that comes to be there after would be
// in plain sight.
func TestOverlappingRuns(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		for _, first := range []string{"the maker", "the other"} {
			tr := testenv.NewTree(t, b.user)
			root := tr.Path("work/later")
			f := flags{"--deny", root}
			maker, other := b.serve(t, tr, f), b.serve(t, tr, f)
			if first == "the maker" {
				events := maker.end()
				if b.backend == "bwrap" && (!tr.Exists("work/later") || len(events) != 3 || strings.Join(events[2].Created, " ") != root) {
					t.Errorf("when the maker ends first the root is there: %v, and the report says %+v", tr.Exists("work/later"), events)
				}
				if b.backend == "landlock" && tr.Exists("work/later") {
					t.Error("Landlock made the root")
				}
				maker = b.serve(t, tr, f) // a third run, that did not make it either
			}
			tr.Write("work/later/secret", "secret") // the host, at last
			for _, k := range []*talk{maker, other} {
				if got := k.ask("read", root+"/secret"); got != hidden.errno(b.backend) {
					t.Errorf("%s ended first: reading what the host put there = %s, want %s", first, got, hidden.errno(b.backend))
				}
				if got := k.ask("create", root+"/planted"); got != sealed.errno(b.backend) {
					t.Errorf("%s ended first: creating in the root = %s, want %s", first, got, sealed.errno(b.backend))
				}
			}
			other.end()
			if got := maker.ask("read", root+"/secret"); got != hidden.errno(b.backend) {
				t.Errorf("with one run left: reading what the host put there = %s, want %s", got, hidden.errno(b.backend))
			}
			maker.end()
			if got := tr.Read("work/later/secret"); got != "secret" {
				t.Errorf("the host's file is now %q", got)
			}
			if got := b.calls(t, tr, f, row{call: "read", paths: "work/later/secret"}); got[0] != hidden.errno(b.backend) {
				t.Errorf("the next run reads it: %s", got[0])
			}
			if res := b.free(t, tr, "cat", root+"/secret"); res.Stdout != "secret" {
				t.Errorf("control: unconfined = %+v", res)
			}
		}
	})
}

// TestOverlappingReadOnlyRuns: the same for a readonly root. Were it removed while
// another run has it bound read-only, that run could make it anew and fill it.
func TestOverlappingReadOnlyRuns(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		root := tr.Path("work/later")
		f := flags{"--read-only", root}
		maker, other := b.serve(t, tr, f), b.serve(t, tr, f)
		maker.end()
		if !tr.Exists("work/later") {
			t.Error("the maker removed the root while another run has it")
		}
		if got := other.ask("mkdir", root); got != "EEXIST" {
			t.Errorf("making the root anew = %s, want EEXIST", got)
		}
		if got := other.ask("create", root+"/planted"); got != readOnly.errno(b.backend) {
			t.Errorf("creating in the root = %s, want %s", got, readOnly.errno(b.backend))
		}
		other.end()
	})
}

// TestMadeRootIsRemovedOnce: of many runs that overlap the last one that made the
// root removes it, when nobody has it as a mask; it is then as it was.
func TestMadeRootIsRemovedOnce(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		f := flags{"--deny", tr.Path("work/later")}
		maker := b.serve(t, tr, f)
		var others []*talk
		for range 3 {
			others = append(others, b.serve(t, tr, f))
		}
		for _, k := range others {
			k.end()
			if !tr.Exists("work/later") {
				t.Fatal("a run that did not make the root removed it, under the mask of another")
			}
		}
		if list := maker.end(); len(list) != 3 || len(list[2].Created) != 0 || tr.Exists("work/later") {
			t.Errorf("at the end of the last run the root is there: %v, and the report says %+v", tr.Exists("work/later"), list)
		}
	})
}

// TestBackgroundProcessKeepsItsMask: what a command leaves behind lives on in the
// sandbox, and so does the directory under its mask.
func TestBackgroundProcessKeepsItsMask(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		root := tr.Path("work/later")
		script := `( until [ -e ../out/go ]; do sleep 0.02; done; "$@" >../out/answer 2>&1; echo end >../out/end ) <&- >/dev/null 2>&1 & echo $!`
		res, list := b.reported(t, tr, flags{"--deny", root}, "sh", "-c", script, "sh", testenv.Helper(t), "calls", "read", root+"/secret")
		var pid int
		if _, err := fmt.Sscan(res.Stdout, &pid); err != nil || pid < 2 || res.Status != 0 {
			t.Fatalf("leaving a process behind gave %+v", res)
		}
		t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
		if !tr.Exists("work/later") || len(list) != 3 || strings.Join(list[2].Created, " ") != root {
			t.Errorf("with a process left behind the root is there: %v, and the report says %+v", tr.Exists("work/later"), list)
		}
		tr.Write("work/later/secret", "secret")
		tr.Write("out/go", "")
		eventually(t, "the process left behind has answered", func() bool { return tr.Exists("out/end") })
		if got := strings.TrimSpace(tr.Read("out/answer")); got != hidden.errno(b.backend) {
			t.Errorf("the process left behind reads what the host put under its mask: %s, want %s", got, hidden.errno(b.backend))
		}
		gone(t, []int{pid})
	})
}

// TestStrangerThatCannotBeLookedAt: a younger process of the same user whose mount
// namespace is closed to the launcher keeps the directory only if it can have come
// out of the sandbox. Those of root are open to root. The user is one that no other
// test is: theirs would keep their directories too, beside this one's stranger.
func TestStrangerThatCannotBeLookedAt(t *testing.T) {
	alone := testenv.Plain
	if os.Geteuid() == 0 {
		alone = testenv.User{Name: "user", UID: 65533, GID: 65533}
	}
	eachOf(t, []string{"bwrap"}, []testenv.User{testenv.Root, alone}, func(t *testing.T, b box) {
		for _, c := range []struct {
			acts []string
			stay bool
		}{
			{[]string{"undumpable"}, false},
			{[]string{"no-new-privs", "undumpable"}, b.user.UID != 0 && !harden.HasFilter},
			{[]string{"no-new-privs", "filter", "undumpable"}, b.user.UID != 0},
		} {
			tr := testenv.NewTree(t, b.user)
			maker := b.serve(t, tr, flags{"--deny", tr.Path("work/later")})
			stranger := talkTo(t, testenv.Command{User: b.user, Dir: tr.Path("work"), Home: tr.Home(), Argv: []string{testenv.Helper(t), "serve"}}, nil)
			for _, act := range c.acts {
				if got := stranger.ask(act); got != "ok" {
					t.Fatalf("%s = %s", act, got)
				}
			}
			maker.end()
			if tr.Exists("work/later") != c.stay {
				t.Errorf("with a stranger that did %v the made directory is there: %v, want %v", c.acts, !c.stay, c.stay)
			}
		}
	})
}

// TestNamespacesThatComeAndGo: the kernel gives the number of a mount namespace
// that is gone to the next one that is made. It keeps no directory.
func TestNamespacesThatComeAndGo(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		var others sync.WaitGroup
		ended := make(chan struct{})
		for range 2 {
			others.Go(func() {
				for {
					select {
					case <-ended:
						return
					default:
						b.run(t, tr, flags{"--deny", tr.Path("out")}, "true")
					}
				}
			})
		}
		for i := range 20 {
			root := tr.Path(fmt.Sprintf("work/later-%d", i))
			if _, list := b.reported(t, tr, flags{"--deny", root}, "true"); len(list) != 3 || len(list[2].Created) != 0 {
				t.Errorf("with nobody in the sandbox the report says %+v", list)
			}
		}
		close(ended)
		others.Wait()
	})
}

// TestStartAtAnEnd: a run starts at some moment while the run that made their
// missing denied root ends and removes it. Both succeed.
func TestStartAtAnEnd(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		testenv.Launcher(t) // or building it would count
		began := time.Now()
		b.run(t, tr, flags{"--deny", tr.Path("out/later/deep")}, "true")
		span := time.Since(began) // of one run
		for i := range testenv.Count(t, "CONFINE_STARTS", 150) {
			f := flags{"--deny", tr.Path(fmt.Sprintf("work/later-%d/deep", i))}
			var wait sync.WaitGroup
			for delay := range 2 {
				wait.Go(func() {
					time.Sleep(time.Duration(delay) * rand.N(span*3/2))
					if res := b.run(t, tr, f, "true"); res.Status != 0 || res.Stderr != "" {
						t.Errorf("run %d of pair %d gave %+v, want success", delay, i, res)
					}
				})
			}
			wait.Wait()
		}
	})
}

// TestLockedRoot: a run that ends locks a directory before it removes it, and on a
// busy host may keep it for long. A start waits for that, but not without end.
func TestLockedRoot(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		root := tr.Path("work/there")
		tr.Mkdir("work/there")
		dir, err := os.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if res := b.run(t, tr, flags{"--deny", root}, "true"); res.Status != 125 ||
			res.Stderr != fmt.Sprintf("letta-confine: error: root %q: another process keeps it locked\nletta-confine: hint: lslocks names the process\n", root) {
			t.Errorf("with a lock that stays the run gave %+v", res)
		}
		time.AfterFunc(500*time.Millisecond, func() { unix.Flock(int(dir.Fd()), unix.LOCK_UN) })
		if res := b.run(t, tr, flags{"--deny", root}, "true"); res.Status != 0 || res.Stderr != "" {
			t.Errorf("with a lock that goes the run gave %+v", res)
		}
	})
}
