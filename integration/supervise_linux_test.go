package integration

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
	"github.com/letta-confine/letta-confine/landlock"
)

// supervised are the flags of a run that the launcher stays beside.
func supervised(f flags) flags { return append(flags{"--supervise"}, f...) }

// TestSupervisedLandlock: with --supervise Landlock keeps the whole process contract,
// and denies what it denies without.
func TestSupervisedLandlock(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		bob := tr.Path("home/.letta/agents/bob/memory/x.md")
		for _, c := range []struct {
			script string
			status int
			stderr string
		}{
			{"exit 7", 7, ""},
			{"kill -9 $$", 137, ""},
			{"cat " + bob, 1, "cat: " + bob + ": Permission denied\n"},
			{"echo x >>" + bob, 2, "sh: 1: cannot create " + bob + ": Permission denied\n"},
			{"test $(wc -c <" + tr.Path("home/.letta/agents/alice/memory/x.md") + ") -gt 0", 0, ""},
			{"grep -q '^NoNewPrivs:.1' /proc/self/status", 0, ""},
		} {
			res, list := b.reported(t, tr, supervised(crossFlags(tr)), "sh", "-c", c.script)
			if res.Status != c.status || res.Stderr != c.stderr {
				t.Errorf("%q gave %+v, want status %d and %q", c.script, res, c.status, c.stderr)
			}
			if got := eventNames(list); got != "plan started exit" || list[0].Exit != "" || *list[2].Code != c.status {
				t.Errorf("%q: events %q, want an exit with %d", c.script, got, c.status)
			}
		}
		if free := b.free(t, tr, "sh", "-c", "cat "+bob+" && echo x >>"+bob); free.Status != 0 {
			t.Errorf("unconfined, the same gave %+v, want success", free)
		}
		res := b.run(t, tr, supervised(crossFlags(tr)), "no-such-program")
		if res.Status != 127 || !strings.Contains(res.Stderr, "not found") {
			t.Errorf("no such program gave %+v, want 127", res)
		}
		if res := b.run(t, tr, supervised(append(crossFlags(tr), "--isolate-processes")), "touch", "ran"); res.Status != 125 || tr.Exists("work/ran") {
			t.Errorf("--isolate-processes gave %+v, want 125", res)
		}
		if s := b.state(t, tr, supervised(append(workFlags(tr), "--new-session"))); s.SID != s.PID {
			t.Errorf("with --new-session the command %d is in session %d", s.PID, s.SID)
		}
	})
}

// TestSupervisedSignals: a signal to the launcher reaches the command, and its end,
// and that of the caller where it is watched, is the command's.
func TestSupervisedSignals(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGUSR1} {
			script := fmt.Sprintf(`trap 'echo caught; exit 42' %d; echo ready; while :; do sleep 0.02; done`, sig)
			cmd, lines := b.session(t, tr, supervised(workFlags(tr)), "sh", "-c", script)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			line, _ := lines.ReadString('\n')
			cmd.Wait()
			if status := testenv.Status(cmd.ProcessState); line != "caught\n" || status != 42 {
				t.Errorf("%v: the command said %q and ended with %d, want caught and 42", sig, line, status)
			}
		}
		script := []string{"sh", "-c", "echo ready; exec sleep 60"}
		cmd, _ := b.session(t, tr, supervised(workFlags(tr)), script...)
		cmd.Process.Kill()
		cmd.Wait()
		ended(t, cmd.Process.Pid)

		caller := b.called(t, tr, "killed", supervised(append(workFlags(tr), "--die-with-parent")), script...)
		ended(t, caller.Process.Pid)
	})
}

// TestDenialsOfARun: what a command writes to standard error passes whole and in
// order; a server that it leaves behind does not hold the launcher; and what the
// policy denied is known, on every backend.
func TestDenialsOfARun(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		bob := tr.Path("home/.letta/agents/bob/memory/x.md")
		f := append(flags{"--fail-on-denial"}, crossFlags(tr)...)
		const lines = 40_000
		res := b.run(t, tr, f, "sh", "-c", fmt.Sprintf("seq %d >&2", lines))
		if n := strings.Count(res.Stderr, "\n"); res.Status != 0 || n != lines || !strings.HasSuffix(res.Stderr, fmt.Sprintf("\n%d\n", lines)) {
			t.Errorf("%d lines came through as %d, status %d", lines, n, res.Status)
		}
		began := time.Now()
		res = b.run(t, tr, f, "sh", "-c", "setsid sleep 20 </dev/null >/dev/null & cat "+bob+"; echo done")
		if res.Status != 77 || res.Stdout != "done\n" || !strings.Contains(res.Stderr, "denied read of \""+bob+`"`) {
			t.Errorf("a denied read gave %+v, want 77", res)
		}
		if took := time.Since(began); took > patience {
			t.Errorf("a process that holds standard error held the launcher for %v", took)
		}
		if free := b.free(t, tr, "cat", bob); free.Status != 0 {
			t.Errorf("unconfined, the same gave %+v, want success", free)
		}
		if res := b.run(t, tr, crossFlags(tr), "sh", "-c", "cat "+bob+"; true"); res.Status != 0 {
			t.Errorf("without the flag it gave %+v, want the command's own status", res)
		}
		// Not there, with or without a sandbox.
		if res := b.run(t, tr, f, "cat", tr.Path("work/gone")); res.Status != 1 {
			t.Errorf("a file that is not there gave %+v, want status 1", res)
		}
		if res := b.run(t, tr, append(flags{"--annotate", "github"}, workFlags(tr)...), "sh", "-c", "echo x >"+tr.Path("out/new")); !strings.Contains(res.Stderr, "\n::error title=letta-confine%3A denied ") {
			t.Errorf("a denied write was annotated as %+v", res)
		}
	})
}

// TestEndlessStandardError: what the command left behind cannot hold the launcher by
// writing without end, to a reader that does not keep up.
func TestEndlessStandardError(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		took := func(f flags, script string, status int) time.Duration {
			cmd := b.command(t, tr, append(f, workFlags(tr)...), "sh", "-c", script).Cmd(soon(t))
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd.Stderr = w
			began := time.Now()
			err = cmd.Start()
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				buf := make([]byte, 64<<10)
				for {
					if _, err := r.Read(buf); err != nil {
						return
					}
					time.Sleep(5 * time.Millisecond)
				}
			}()
			cmd.Wait()
			if got := testenv.Status(cmd.ProcessState); got != status {
				t.Errorf("%q ended with %d, want %d", f, got, status)
			}
			return time.Since(began)
		}
		for _, f := range []flags{{"--fail-on-denial"}, {"--annotate", "github"}} {
			if d := took(f, "setsid timeout 12 yes </dev/null >&2 & sleep 0.3; exit 3", 3); d > 8*time.Second {
				t.Errorf("%q: it held the launcher for %v", f, d)
			}
		}
		// The control: the launcher waits for the command itself, which writes as much;
		// and does not take long to look at millions of lines.
		if d := took(flags{"--fail-on-denial"}, "timeout 2 yes >&2; exit 3", 3); d < 2*time.Second || d > 12*time.Second {
			t.Errorf("control: a command that writes for two seconds took %v", d)
		}
	})
}

// TestAuditDenials: a plain user may not read the kernel's log, and the report says
// so; nor is anybody told of denials by a log that is off. Nothing else changes.
func TestAuditDenials(t *testing.T) {
	if landlockABI < landlock.LogABI {
		testenv.Need(t, testenv.FacilityLandlock, fmt.Errorf("the kernel has ABI %d", landlockABI))
	}
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		bob := tr.Path("home/.letta/agents/bob/memory/x.md")
		res, list := b.reported(t, tr, supervised(append(crossFlags(tr), "--audit-denials")), "cat", bob)
		if res.Status != 1 || len(list) != 3 {
			t.Fatalf("the run gave %+v and events %q", res, eventNames(list))
		}
		want := "not-permitted"
		if log, err := landlock.OpenLog(); err == nil {
			log.Close() // then make hosts has the rest
			want = ""
		} else if b.user.UID == 0 {
			want = err.Error()
		}
		if got := list[2].Unreadable; got != want && (b.user.UID != 0 || got != "") {
			t.Errorf("the log is said to be %q, want %q", got, want)
		}
		// Where the command takes the launcher's place, only the kernel speaks.
		if res := b.run(t, tr, append(crossFlags(tr), "--audit-denials"), "sh", "-c", "exit 7"); res.Status != 7 || res.Stderr != "" {
			t.Errorf("without a supervisor it gave %+v, want 7", res)
		}
	})
}
