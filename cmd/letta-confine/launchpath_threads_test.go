//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// forbidden are packages that no start of a command may pay for, and why.
var forbidden = map[string]string{
	"regexp":        "patterns are compiled at every start; the checks have them",
	"net":           "its inits",
	"text/template": "reflection keeps every method of every type",
	"flag":          "it makes an entry for every flag, given or not",
	"testing":       "it registers flags",
}

func TestLaunchPathLinks(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags", "launcher", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(string(out))
	if !slices.Contains(list, "golang.org/x/sys/unix") {
		t.Fatalf("go list gave %q", list)
	}
	for _, name := range list {
		if why, ok := forbidden[name]; ok {
			t.Errorf("the launcher links %s: %s", name, why)
		}
	}
}

// madeBy is where a trace of goroutines says what started one.
var madeBy = regexp.MustCompile(`(?m)^created by (\S+)`)

// TestLaunchPathAlone stops a launcher right before it executes the command, and
// looks what else there is of it: no goroutine but the first and those that the runtime
// cannot be without, no thread but what the runtime brings, and no program that it ran. What stops it is a report that is
// written last and finds its pipe full.
func TestLaunchPathAlone(t *testing.T) {
	need(t, "landlock")
	const page = 4096
	start := func(filled int) (run *exec.Cmd, r *os.File, stderr *bytes.Buffer) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		t.Cleanup(func() { r.Close() })
		if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, page); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, filled)); err != nil {
			t.Fatal(err)
		}
		stderr = new(bytes.Buffer)
		run = exec.Command(launcher(t), "--backend", "landlock", "--restrict-writes", "--report", "fd:3", "--", "true")
		// With one processor the runtime starts no thread only to look for work.
		run.Env = append(os.Environ(), "GOMAXPROCS=1", "GOTRACEBACK=system")
		run.ExtraFiles, run.Stderr = []*os.File{w}, stderr
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		return run, r, stderr
	}

	run, r, stderr := start(0)
	if err := run.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	text := make([]byte, page)
	n, err := r.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	plan, rest, _ := bytes.Cut(text[:n], []byte("\n"))
	if !bytes.Contains(plan, []byte(`"plan"`)) || !bytes.HasPrefix(rest, []byte(`{`)) || !bytes.Contains(rest, []byte(`"started"`)) {
		t.Fatalf("the report is not a plan and started: %s", text[:n])
	}

	run, _, stderr = start(page - len(plan) - 1)
	defer func() {
		run.Process.Kill()
		run.Wait()
	}()
	proc := fmt.Sprintf("/proc/%d", run.Process.Pid)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if in, _ := os.ReadFile(proc + "/wchan"); strings.Contains(string(in), "pipe") {
			break
		} else if call, _ := os.ReadFile(proc + "/syscall"); strings.HasPrefix(string(call), fmt.Sprintf("%d 0x3 ", unix.SYS_WRITE)) {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the launcher does not wait for its report: %q, %q\n%s", in, call, stderr)
		}
	}
	threads, err := os.ReadDir(proc + "/task")
	if err != nil {
		t.Fatal(err)
	}
	// The first, the monitor, and one or two for the goroutines of the collector.
	if len(threads) > 4 {
		t.Errorf("the launcher has %d threads, want 4 at most", len(threads))
	}
	for _, thread := range threads {
		if children, _ := os.ReadFile(filepath.Join(proc, "task", thread.Name(), "children")); len(children) > 0 {
			t.Errorf("the launcher has children %q", children)
		}
	}
	stat, err := os.ReadFile(proc + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	// Field 11 of proc_pid_stat(5); what follows the name begins with field 3.
	if faults := strings.Fields(after)[11-3]; faults != "0" {
		t.Errorf("the launcher has waited for a program: its children had %s page faults", faults)
	}
	if err := run.Process.Signal(unix.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	run.Wait()
	if !strings.Contains(stderr.String(), "main.init") {
		t.Fatalf("the launcher is not in its init, or gave no trace:\n%s", stderr)
	}
	for _, m := range madeBy.FindAllStringSubmatch(stderr.String(), -1) {
		if !strings.HasPrefix(m[1], "runtime.") || m[1] == "runtime.defaultGOMAXPROCSUpdateEnable" {
			t.Errorf("the launcher has a goroutine of %s", m[1])
		}
	}
}

// maxResident bounds what the supervisor keeps in memory while the command runs.
const maxResident = 4 << 20

func TestSupervisorMemory(t *testing.T) {
	need(t, "bwrap")
	run := exec.Command(launcher(t), "--backend", "bwrap", "--restrict-writes", "--", "sh", "-c", "echo; read line || :")
	stdin, err := run.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer run.Wait()
	defer stdin.Close()
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	resident := 0
	// The command may say that it runs before the supervisor waits for it.
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", run.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(status), "\nVmRSS:")
		if _, err := fmt.Sscan(after, &resident); err != nil {
			t.Fatalf("%v\n%s", err, status)
		}
		if resident <<= 10; resident < maxResident*3/4 {
			return // what waits has given back half of the program
		}
	}
	t.Errorf("the supervisor has %d bytes in memory, want fewer than three quarters of %d", resident, maxResident)
}
