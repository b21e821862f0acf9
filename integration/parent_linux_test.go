package integration

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

func init() {
	faces["caller"] = callerMain
	faces["late"] = lateMain
	faces["adopter"] = adopterMain
}

// callerMain starts a program as a harness would, and then is "killed" as soon as
// the program has said something, or "killed-early", or goes on "from-a-thread"
// that it started the program from and that has ended.
func callerMain(args []string) int {
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	cmd.Env = append(os.Environ(), "CALLER="+strconv.Itoa(unix.Getpid()))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 2
	}
	began := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		began <- cmd.Start()
	}()
	if err := <-began; err != nil {
		fmt.Println(err)
		return 2
	}
	if args[0] != "killed-early" {
		line, _ := bufio.NewReader(out).ReadString('\n')
		fmt.Print(line)
	}
	if args[0] != "from-a-thread" {
		unix.Kill(unix.Getpid(), unix.SIGKILL)
	}
	cmd.Wait()
	return 0
}

// lateMain becomes a program once the process that started it is gone: what a
// launcher is that its caller's end overtakes.
func lateMain(args []string) int {
	for os.Getenv("CALLER") == strconv.Itoa(unix.Getppid()) {
		time.Sleep(time.Millisecond)
	}
	err := unix.Exec(args[0], args, os.Environ())
	fmt.Println(err)
	return 2
}

// adopterMain runs a program, and takes the place of the parent of what it
// leaves behind, until that has ended.
func adopterMain(args []string) int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return 2
	}
	if _, err := os.StartProcess(args[0], args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}}); err != nil {
		fmt.Println(err)
		return 2
	}
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && err != unix.EINTR {
			return 0
		}
	}
}

// called starts a launcher from a caller in a process group of its own, and
// returns the caller once it has said "ready".
func (b box) called(t *testing.T, tr *testenv.Tree, how string, f flags, argv ...string) *exec.Cmd {
	t.Helper()
	c := b.command(t, tr, f, argv...)
	c.Argv = append([]string{testenv.Helper(t), "caller", how}, c.Argv...)
	cmd := c.Cmd(soon(t))
	cmd.SysProcAttr.Setpgid = true
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
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
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the caller said %q, %v", line, err)
	}
	return cmd
}

// ended waits for the end of a group.
func ended(t *testing.T, pgid int) {
	t.Helper()
	for end := time.Now().Add(patience); len(group(t, pgid)) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%v after its caller was killed there is still %q", patience, group(t, pgid))
			return
		}
	}
}

// TestDieWithParent: it is the process that counts. A harness starts commands
// from a pool of threads, and a thread may end at any time.
func TestDieWithParent(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		script := []string{"sh", "-c", "echo ready; exec sleep 60"}
		for _, f := range []flags{{"--die-with-parent"}, {"--isolate-processes"}} {
			tr := testenv.NewTree(t, b.user)
			f := append(f, crossFlags(tr)...)
			cmd := b.called(t, tr, "from-a-thread", f, script...)
			time.Sleep(300 * time.Millisecond)
			if lines := group(t, cmd.Process.Pid); len(lines) < 4 {
				t.Errorf("%s: after the end of the thread that started it there is only %q", f[0], lines)
			}
			cmd.Process.Kill()
			cmd.Process.Wait()
			ended(t, cmd.Process.Pid)

			cmd = b.called(t, tr, "killed", f, script...)
			ended(t, cmd.Process.Pid)
		}
	})
}

// TestParentThatIsNotWatched: without the flag the command goes on, as it would
// without the launcher.
func TestParentThatIsNotWatched(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		cmd := b.called(t, tr, "killed", crossFlags(tr), "sh", "-c", "echo ready; exec sleep 60")
		cmd.Process.Wait()
		goesOn := func() bool { return strings.Contains(strings.Join(group(t, cmd.Process.Pid), "\n"), "sleep 60") }
		eventually(t, "the command has become sleep", goesOn)
		time.Sleep(200 * time.Millisecond)
		if !goesOn() {
			t.Errorf("after its caller was killed there is %q, want the command among it", group(t, cmd.Process.Pid))
		}
	})
}

// TestIsolatedDescendantsEnd: whatever the command started, and however it hid,
// ends with the caller; and with the command.
func TestIsolatedDescendantsEnd(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		// Sessions and process groups of their own, so they show by what they do.
		beat := `setsid sh -c 'while echo beat >>beats; do sleep 0.05; done' <&- >/dev/null 2>&1 & until [ -e beats ]; do sleep 0.01; done; echo ready; `
		f := append(flags{"--isolate-processes"}, crossFlags(tr)...)
		quiet := func(when string) {
			t.Helper()
			eventually(t, "nothing beats after "+when, func() bool {
				before := tr.Read("work/beats")
				time.Sleep(200 * time.Millisecond)
				return tr.Read("work/beats") == before
			})
			os.Remove(tr.Path("work/beats"))
		}
		cmd := b.called(t, tr, "killed", f, "sh", "-c", beat+"sleep 60")
		cmd.Process.Wait()
		quiet("the end of the caller")
		if res := b.run(t, tr, f, "sh", "-c", beat); res.Status != 0 {
			t.Errorf("the command gave %+v", res)
		}
		quiet("the end of the command")
	})
}

// TestNewSession: the command has a session of its own, and a ^C that the
// terminal sends to the launcher reaches it all the same, as does TERM.
func TestNewSession(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		f := append(flags{"--new-session"}, workFlags(tr)...)
		if s := b.state(t, tr, f); s.SID != s.PID || s.PGID != s.PID {
			t.Errorf("the command is process %d in session %d, group %d, want its own", s.PID, s.SID, s.PGID)
		}
		if s := b.state(t, tr, workFlags(tr)); s.SID == s.PID {
			t.Error("control: without the flag the session is new too")
		}
		for sig, how := range map[string]func(pid int, master *os.File){
			"INT":  func(_ int, master *os.File) { master.Write([]byte{3}) },
			"TERM": func(pid int, _ *os.File) { unix.Kill(pid, unix.SIGTERM) },
		} {
			master, slave := testenv.Terminal(t, b.user)
			cmd := b.command(t, tr, f, "sh", "-c", `trap 'echo caught; exit 42' `+sig+`; echo ready; while :; do sleep 0.02; done`).Cmd(soon(t))
			cmd.Stdin = slave
			cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			if line, _ := lines.ReadString('\n'); line != "ready\n" {
				t.Errorf("the command said %q", line)
			}
			how(cmd.Process.Pid, master)
			rest, _ := io.ReadAll(lines)
			cmd.Wait()
			if status := testenv.Status(cmd.ProcessState); status != 42 || string(rest) != "caught\n" {
				t.Errorf("%s: the command said %q and ended with %d, want caught, once, and 42", sig, rest, status)
			}
		}
	})
}
