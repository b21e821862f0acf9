package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// modeFlags are those of the mode read-only, and of a session whose log is outside
// of what workspace-write writes.
func modeFlags(tr *testenv.Tree) flags {
	return flags{"--mode", "read-only", "--session-log", tr.Path("out/log")}
}

// asking is a launcher run whose temporary directory is the tree's own: the tree is
// in the usual one, which workspace-write writes.
func (b box) asking(t testing.TB, tr *testenv.Tree, f flags, argv ...string) testenv.Command {
	t.Helper()
	testenv.Companion(t)
	c := b.command(t, tr, f, argv...)
	c.Env = []string{"TMPDIR=" + tr.Path("tmp")}
	return c
}

// widenFlags ask for workspace-write.
func widenFlags(tr *testenv.Tree, answerer string) flags {
	return append(modeFlags(tr), "--widen", "workspace-write", "--justification", "a test", "--answerer", answerer)
}

// answerer writes a program that answers every request so.
func answerer(tr *testenv.Tree, outcome string) string {
	tr.WriteProgram("out/"+outcome, `#!/bin/sh
sed 's/.*"id":"\([0-9a-f]*\)".*/{"id":"\1","outcome":"`+outcome+`"}/'
`)
	return tr.Path("out/" + outcome)
}

// TestWidenedOnce: the wider run writes what the narrow one cannot, and nothing of
// it is left for the next.
func TestWidenedOnce(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		touch := []string{"touch", "made"}
		if res := b.asking(t, tr, modeFlags(tr), touch...).Run(t); res.Status != 1 || tr.Exists("work/made") {
			t.Fatalf("the narrow run gave %+v, want it to be denied", res)
		}
		if res := b.asking(t, tr, widenFlags(tr, answerer(tr, "rejected")), touch...).Run(t); res.Status != 125 || tr.Exists("work/made") {
			t.Errorf("the rejected run gave %+v", res)
		}
		if res := b.asking(t, tr, widenFlags(tr, answerer(tr, "allowed-once")), touch...).Run(t); res.Status != 0 || res.Stderr != "" || !tr.Exists("work/made") {
			t.Errorf("the wider run gave %+v, want it to write", res)
		}
		if res := b.asking(t, tr, widenFlags(tr, answerer(tr, "allowed-once")), "touch", tr.Path("home/made"), tr.Path("out/log")).Run(t); res.Status != 1 || tr.Exists("home/made") {
			t.Errorf("beyond the wider mode a run gave %+v", res)
		}
		if res := b.asking(t, tr, modeFlags(tr), "touch", "again").Run(t); res.Status != 1 || tr.Exists("work/again") {
			t.Errorf("the next run gave %+v, want it to be denied", res)
		}
		kept := b.asking(t, tr, append(widenFlags(tr, answerer(tr, "allowed-once")), "--keep-fd", "3"), "sh", "-c", "cat <&3; ls /proc/self/fd")
		f, err := os.Open(tr.Path("work/file.txt"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		kept.Files = []*os.File{f}
		if res := kept.Run(t); res.Stdout != "work\n0\n1\n2\n3\n4\n" { // 4 is the listing's own
			t.Errorf("with a descriptor that it keeps, the wider run gave %+v", res)
		}
	})
}

// person is a session of somebody at a terminal, whose shell runs the launcher.
type person struct {
	t      testing.TB
	cmd    *exec.Cmd
	master *os.File
	slave  *os.File
	before unix.Termios
	ended  chan struct{}

	mu   sync.Mutex
	seen strings.Builder
}

// sits starts the launcher, and then the shell says its status.
func (b box) sits(t *testing.T, tr *testenv.Tree, f flags, argv ...string) *person {
	t.Helper()
	return b.types(t, tr, `"$@"; echo "status $?"; read -r line; echo "then $line"`, f, argv...)
}

// types has the shell run a script, with the launcher as its arguments.
func (b box) types(t *testing.T, tr *testenv.Tree, script string, f flags, argv ...string) *person {
	t.Helper()
	master, slave := testenv.Terminal(t, b.user)
	p := &person{t: t, master: master, slave: slave, ended: make(chan struct{}), before: attributes(t, slave)}
	if _, err := master.WriteString("allow\r"); err != nil { // before anybody asks
		t.Fatal(err)
	}
	c := b.asking(t, tr, f, argv...)
	c.Argv = append([]string{"sh", "-c", script, "sh"}, c.Argv...)
	p.cmd = c.Cmd(context.Background())
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr.Setsid, p.cmd.SysProcAttr.Setctty = true, true
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

func attributes(t testing.TB, tty *os.File) unix.Termios {
	t.Helper()
	a, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *a
}

func (p *person) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// waits until the terminal shows a text.
func (p *person) waits(text string) {
	p.t.Helper()
	for range 1000 {
		if strings.Contains(p.screen(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("the terminal never shows %q:\n%q", text, p.screen())
}

func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

const question = "anything else rejects it, ^C cancels: "

// TestPersonAnswers: the keystrokes of somebody at a terminal, and what each does.
func TestPersonAnswers(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		for _, c := range []struct {
			name, keys, status, says, outcome string
		}{
			{"allows", "allow\r", "status 0", "", "allowed-once"},
			{"corrects", "allot\x7fw\r", "status 0", "", "allowed-once"},
			{"rejects", "no\r", "status 125", "error: widening to workspace-write was rejected", "rejected"},
			{"just enter", "\r", "status 125", "was rejected", "rejected"},
			{"another word", "yes\r", "status 125", "was rejected", "rejected"},
			{"interrupts", "\x03", "status 125", "error: widening to workspace-write was cancelled", "cancelled"},
			{"interrupts in the middle", "allow\x03", "status 125", "was cancelled", "cancelled"},
			{"quits", "\x1c", "status 125", "was cancelled", "cancelled"},
			{"suspends", "\x1a\r", "status 125", "was rejected", "rejected"},
			{"ends the input", "\x04", "status 125", "was cancelled", "cancelled"},
			{"types ahead", "no\rallow\r", "status 125", "was rejected", "rejected"},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				tr := testenv.NewTree(t, b.user)
				p := b.sits(t, tr, widenFlags(tr, "tty"), "touch", "made", "\x1b[2K\rls", "--", "a b")
				p.waits(question)
				if shown := p.screen(); !strings.Contains(shown, `command: touch made "\x1b[2K\rls" -- "a b"`) || strings.Contains(shown, "\x1b") ||
					!strings.Contains(shown, "mode:    workspace-write") || !strings.Contains(shown, `reason:  "escalate sandbox to workspace-write: a test"`) {
					t.Errorf("the terminal shows\n%s", shown)
				}
				if tr.Exists("work/made") {
					t.Error("the command runs while the question stands")
				}
				p.types(c.keys)
				p.waits(c.status)
				if shown := p.screen(); !strings.Contains(shown, c.says) {
					t.Errorf("want %q and %q, and the terminal shows\n%s", c.status, c.says, shown)
				}
				if made := tr.Exists("work/made"); made != (c.outcome == "allowed-once") {
					t.Errorf("that the command ran is %v", made)
				}
				if log := tr.Read("out/log"); strings.Count(log, "\n") != 2 || !strings.Contains(log, `"outcome":"`+c.outcome+`"`) {
					t.Errorf("the session log is %s", log)
				}
				if after := attributes(t, p.slave); after != p.before {
					t.Errorf("the terminal has the attributes %+v, and had %+v", after, p.before)
				}
				p.types("more\r")
				p.waits("then more") // and nothing of what was typed before it
			})
		}
	})
}

// TestQuestionEnds: a signal to the launcher, and the end of its time, end the
// question and leave the terminal as it was.
func TestQuestionEnds(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		p := b.sits(t, tr, widenFlags(tr, "tty"), "touch", "made")
		p.waits(question)
		unix.Kill(launcherOf(t, p), unix.SIGTERM)
		p.waits("status 125")
		p.waits("was cancelled")
		if after := attributes(t, p.slave); after != p.before {
			t.Errorf("the terminal has the attributes %+v, and had %+v", after, p.before)
		}
		late := b.sits(t, tr, append(widenFlags(tr, "tty"), "--answer-timeout", "300ms"), "touch", "made")
		late.waits("there is no answer: it gave no answer in time")
		late.waits("status 125")
		if after := attributes(t, late.slave); after != late.before || tr.Exists("work/made") {
			t.Errorf("the terminal has the attributes %+v, and had %+v", after, late.before)
		}
	})
}

// TestApproveAtATerminal: the question alone is the same, and runs nothing.
func TestApproveAtATerminal(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		for keys, want := range map[string][]string{
			"allow\r": {"allowed-once", "status 0"},
			"no\r":    {"rejected", "status 2"},
			"\x03":    {"cancelled", "status 4"},
		} {
			tr := testenv.NewTree(t, b.user)
			script := `launcher=$1; shift; "$launcher" approve "$@"; echo "status $?"; read -r line`
			p := b.types(t, tr, script, append(modeFlags(tr), "--answerer", "tty", "--justification", "a test"), "touch", "made")
			p.waits(question)
			if shown := p.screen(); !strings.Contains(shown, `command: touch made`) || !strings.Contains(shown, `reason:  "a test"`) {
				t.Errorf("the terminal shows\n%s", shown)
			}
			p.types(keys)
			for _, text := range want {
				p.waits(text)
			}
			if after := attributes(t, p.slave); after != p.before || tr.Exists("work/made") {
				t.Errorf("%q: the terminal has the attributes %+v, and had %+v; that the command ran is %v", keys, after, p.before, tr.Exists("work/made"))
			}
		}
	})
}

// TestQuestionInTheBackground: whoever has the terminal is not disturbed, and the
// launcher is not stopped.
func TestQuestionInTheBackground(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		p := b.types(t, tr, `set -m; "$@" & wait $!; echo "status $?"; read -r line; echo "then $line"`, widenFlags(tr, "tty"), "touch", "made")
		p.waits("there is no answer: the terminal is another program's")
		p.waits("status 125")
		p.waits("then allow") // what was typed is the shell's
	})
}

// launcherOf finds the child of a person's shell.
func launcherOf(t *testing.T, p *person) int {
	t.Helper()
	pid := 0
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.cmd.Process.Pid))
	if _, scanErr := fmt.Sscan(string(text), &pid); err != nil || scanErr != nil {
		t.Fatalf("the children of the shell are %q: %v", text, err)
	}
	return pid
}

// TestLauncherKilledWhileAsking: the question gets its outcome on the next read, and
// the answer that comes too late is nobody's.
func TestLauncherKilledWhileAsking(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.WriteProgram("out/waits", "#!/bin/sh\nread -r line\necho $$ >"+tr.Path("out/asked")+"\nexec sleep 60\n")
		c := b.asking(t, tr, widenFlags(tr, tr.Path("out/waits")), "touch", "made").Cmd(context.Background())
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the answerer is asked", func() bool { return tr.Exists("out/asked") && tr.Read("out/asked") != "" })
		if res := b.asking(t, tr, modeFlags(tr), "true").Run(t); res.Status != 0 || strings.Contains(tr.Read("out/log"), "decided") {
			t.Errorf("beside it a run gave %+v, and the log is\n%s", res, tr.Read("out/log"))
		}
		c.Process.Kill()
		c.Wait()
		eventually(t, "the answerer has ended", func() bool {
			_, err := os.Stat("/proc/" + strings.TrimSpace(tr.Read("out/asked")))
			return err != nil
		})
		if log := tr.Read("out/log"); strings.Count(log, "\n") != 1 {
			t.Fatalf("the log of the killed run is\n%s", log)
		}
		if res := b.asking(t, tr, modeFlags(tr), "touch", "made").Run(t); res.Status != 1 || tr.Exists("work/made") {
			t.Errorf("the next run gave %+v", res)
		}
		want := regexp.MustCompile(`^{"schema":1,"event":"approval/asked","id":"([0-9a-f]{32})",.*}\n{"schema":1,"event":"approval/decided","id":"([0-9a-f]{32})","outcome":"unavailable"}\n$`)
		if m := want.FindStringSubmatch(tr.Read("out/log")); m == nil || m[1] != m[2] {
			t.Errorf("the log is\n%s", tr.Read("out/log"))
		}
	})
}

// TestSessionLogOnAFullDisk: what cannot be kept is not asked, and the log is as it
// was.
func TestSessionLogOnAFullDisk(t *testing.T) {
	eachOf(t, []string{"landlock"}, []testenv.User{testenv.Root}, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		line := `{"schema":1,"event":"sandbox/mode","mode":"read-only"}` + "\n"
		tr.Write("out/before", strings.Repeat(line, 4096/len(line)))
		tr.Mkdir("full")
		c := b.asking(t, tr, append(flags{"--mode", "read-only", "--session-log", tr.Path("full/log")}, widenFlags(tr, answerer(tr, "allowed-once"))[4:]...), "touch", "made")
		c.Unshare = unix.CLONE_NEWNS
		c.Argv = append([]string{"sh", "-c", `full=$1 before=$2; shift 2
mount -t tmpfs -o size=8k none "$full" && cp "$before" "$full/log" && chmod 600 "$full/log" && (cat /dev/zero >"$full/rest"; true) 2>/dev/null
"$@"; status=$?
cmp "$before" "$full/log" && exit $status; exit 99`, "sh", tr.Path("full"), tr.Path("out/before")}, c.Argv...)
		if res := c.Run(t); res.Status != 125 || !strings.Contains(res.Stderr, "no space left on device") || tr.Exists("work/made") {
			t.Errorf("a run on a full disk gave %+v", res)
		}
	})
}

// TestConcurrentQuestions: runs that ask at once leave a log of whole pairs.
func TestConcurrentQuestions(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		f := widenFlags(tr, answerer(tr, "allowed-once"))
		const runs = 12
		var all sync.WaitGroup
		for i := range runs {
			all.Go(func() {
				if res := b.asking(t, tr, f, "touch", fmt.Sprint("made", i)).Run(t); res.Status != 0 {
					t.Errorf("run %d gave %+v", i, res)
				}
			})
		}
		all.Wait()
		log := tr.Read("out/log")
		asked, decided := strings.Count(log, "approval/asked"), strings.Count(log, `"outcome":"allowed-once"`)
		if asked != runs || decided != runs || strings.Count(log, "\n") != 2*runs {
			t.Errorf("%d asked and %d decided, of %d:\n%s", asked, decided, runs, log)
		}
		made, _ := filepath.Glob(tr.Path("work/made*"))
		if len(made) != runs {
			t.Errorf("%d commands ran, of %d", len(made), runs)
		}
	})
}
