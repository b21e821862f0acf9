package integration

import (
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// overtaken starts a launcher whose caller is gone before the launcher begins to
// run, in a session of the caller's, or below an adopter in the session of both.
// It returns the session and a way to wait for its standard error.
func (b box) overtaken(t *testing.T, tr *testenv.Tree, adopter bool) (sid int, said func() string) {
	t.Helper()
	c := b.command(t, tr, append(flags{"--die-with-parent"}, crossFlags(tr)...), "sleep", "60")
	helper := testenv.Helper(t)
	c.Argv = append([]string{helper, "caller", "killed-early", helper, "late"}, c.Argv...)
	if adopter {
		c.Argv = append([]string{helper, "adopter"}, c.Argv...)
	}
	cmd := c.Cmd(soon(t))
	cmd.SysProcAttr.Setsid = true
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		cmd.Wait()
	})
	return cmd.Process.Pid, func() string {
		text, _ := io.ReadAll(stderr)
		return string(text)
	}
}

// TestParentThatDiesEarly: a caller that is gone before the launcher looks is
// gone all the same, and the command does not start.
func TestParentThatDiesEarly(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		sid, said := b.overtaken(t, testenv.NewTree(t, b.user), false)
		if got, want := said(), "letta-confine: error: --die-with-parent: the calling process is gone\n"; got != want {
			t.Errorf("the launcher said %q, want %q", got, want)
		}
		ended(t, sid)
	})
}

// TestAdoptedInOneSession is a limit: nothing tells a parent that adopted the
// launcher from the one that started it where both are of one session.
func TestAdoptedInOneSession(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		sid, _ := b.overtaken(t, testenv.NewTree(t, b.user), true)
		eventually(t, "the command runs, though its caller is gone", func() bool {
			return runs(group(t, sid), "sleep 60 ")
		})
		time.Sleep(200 * time.Millisecond)
		if lines := group(t, sid); !runs(lines, "sleep 60 ") {
			t.Errorf("the command has ended, and docs/limits.md says that it goes on: %q", lines)
		}
	})
}

// runs says whether a process has exactly this command line.
func runs(lines []string, command string) bool {
	for _, line := range lines {
		if _, c, _ := strings.Cut(line, " "); c == command {
			return true
		}
	}
	return false
}
