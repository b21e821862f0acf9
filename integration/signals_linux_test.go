package integration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// session starts a command in a session of its own, so that no terminal of the
// test's has a say, and waits for the first line that it prints.
func (b box) session(t *testing.T, tr *testenv.Tree, f flags, argv ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := b.command(t, tr, f, argv...).Cmd(soon(t))
	cmd.SysProcAttr.Setsid = true
	cmd.SysProcAttr.Pdeathsig = unix.SIGKILL // a session of its own would outlive a test that is killed
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the command said %q, %v", line, err)
	}
	return cmd, lines
}

// soon is a context that ends with the test, or when a process that should have
// answered has not for twenty seconds.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestSignals: a signal to the launcher reaches the command, which may handle it.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				tr := testenv.NewTree(t, b.user)
				script := fmt.Sprintf(`trap 'echo caught; exit 42' %d; echo ready; while :; do sleep 0.02; done`, sig)
				cmd, lines := b.session(t, tr, workFlags(tr), "sh", "-c", script)
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				line, _ := lines.ReadString('\n')
				cmd.Wait()
				if status := testenv.Status(cmd.ProcessState); line != "caught\n" || status != 42 {
					t.Errorf("the command said %q and ended with %d, want caught and 42", line, status)
				}
			})
		})
	}
}

// TestStoppedCommand: a command that has stopped goes on, and ends, when the
// launcher is told to, as timeout tells it. So does the launcher itself.
func TestStoppedCommand(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		for _, supervised := range []flags{nil, {"--supervise"}} {
			tr := testenv.NewTree(t, b.user)
			script := `trap 'echo caught; exit 42' TERM; echo ready; kill -STOP $$; while :; do sleep 0.02; done`
			cmd, lines := b.session(t, tr, append(workFlags(tr), supervised...), "sh", "-c", script)
			pids := family(t, cmd.Process.Pid)
			eventually(t, "the command has stopped", func() bool {
				return slices.ContainsFunc(pids, func(pid int) bool {
					stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
					return strings.Contains(string(stat), ") T ")
				})
			})
			for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGSTOP, unix.SIGCONT} {
				cmd.Process.Signal(sig)
			}
			line, _ := lines.ReadString('\n')
			cmd.Wait()
			if status := testenv.Status(cmd.ProcessState); line != "caught\n" || status != 42 {
				t.Errorf("%v: the command said %q and ended with %d, want caught and 42", supervised, line, status)
			}
		}
	})
}

// TestSignalEndsTheCommand: without a handler the signal does what it does.
func TestSignalEndsTheCommand(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGHUP} {
			cmd, _ := b.session(t, tr, workFlags(tr), "sh", "-c", "echo ready; exec sleep 60")
			pids := family(t, cmd.Process.Pid)
			cmd.Process.Signal(sig)
			cmd.Wait()
			if status := testenv.Status(cmd.ProcessState); status != 128+int(sig) {
				t.Errorf("after %v the launcher ended with %d, want %d", sig, status, 128+int(sig))
			}
			gone(t, pids)
		}
	})
}

// TestKilledLauncher: nothing of a sandbox outlives its launcher.
func TestKilledLauncher(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		cmd, _ := b.session(t, tr, workFlags(tr), "sh", "-c", "echo ready; exec sleep 60")
		pids := family(t, cmd.Process.Pid)
		if want := map[string]int{"bwrap": 3, "landlock": 1}[b.backend]; len(pids) != want {
			t.Errorf("the run has %d processes, want %d", len(pids), want)
		}
		cmd.Process.Kill()
		cmd.Wait()
		gone(t, pids)
	})
}

// family returns a process and its descendants.
func family(t *testing.T, pid int) []int {
	t.Helper()
	all, err := descend(pid)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// descend leaves out who ends, and is waited for, between its parent's list of
// children and its own.
func descend(pid int) ([]int, error) {
	all := []int{pid}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, err
	}
	for _, field := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		below, err := descend(child)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
			continue
		} else if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// gone waits for processes to end. One that nobody has waited for counts as ended.
func gone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Errorf("process %d is still there after %v", pid, patience)
				unix.Kill(pid, unix.SIGKILL)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// TestBackgroundChild: agents start servers in one command and stop them in
// another.
func TestBackgroundChild(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		began := time.Now()
		res := b.run(t, tr, crossFlags(tr), "sh", "-c", `sleep 60 <&- >/dev/null 2>&1 & echo $!`)
		var pid int
		if _, err := fmt.Sscan(res.Stdout, &pid); err != nil || pid < 2 || res.Status != 0 {
			t.Fatalf("starting a background child gave %+v", res)
		}
		t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
		if d := time.Since(began); d > 2*patience {
			t.Errorf("the launcher waited %v for the background child", d)
		}
		if !alive(pid) {
			t.Fatal("the background child ended with the command")
		}
		if res := b.run(t, tr, crossFlags(tr), "sh", "-c", `kill "$0"`, fmt.Sprint(pid)); res.Status != 0 {
			t.Errorf("a later command cannot signal it: %+v", res)
		}
		gone(t, []int{pid})
	})
}

// TestSignalState: the command starts with the mask and the ignored signals
// that the launcher was started with, and with its limit on open files, which the
// Go runtime raises for itself.
func TestSignalState(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		inherit := []string{testenv.Helper(t), "with", "block=12", "block=10", "ignore=2", "ignore=1", "nofile=321", "--"}
		for _, asks := range [][]string{
			{"/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"},
			{"/bin/sh", "-c", "ulimit -n; ulimit -Hn"},
		} {
			free := b.free(t, tr, append(inherit, asks...)...)
			confined := b.free(t, tr, append(inherit, b.command(t, tr, workFlags(tr), asks...).Argv...)...)
			if confined != free || free.Status != 0 {
				t.Errorf("%q says %+v, want %+v as without the launcher", asks, confined, free)
			}
		}
	})
}

// TestProcessGroup: job control works as without the launcher.
func TestProcessGroup(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		cmd := b.command(t, tr, workFlags(tr), testenv.Helper(t), "state").Cmd(soon(t))
		cmd.SysProcAttr.Setpgid = true
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		s := stateOf(t, testenv.Result{Stdout: string(out)})
		if s.PGID != cmd.Process.Pid {
			t.Errorf("the command's process group is %d, want the launcher's %d", s.PGID, cmd.Process.Pid)
		}
		if sid, err := unix.Getsid(0); err != nil || s.SID != sid {
			t.Errorf("the command's session is %d, want the caller's %d", s.SID, sid)
		}
	})
}
