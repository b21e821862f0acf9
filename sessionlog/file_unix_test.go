//go:build linux || darwin

package sessionlog

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Locks are a process's, so other writers are other processes: the test binary, with
// a step to do.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "step" {
		if err := step(os.Args[2], os.Args[3], os.Args[4:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func step(name, path string, args []string) error {
	l, err := open(path)
	if err != nil {
		return err
	}
	switch name {
	case "ask": // and wait
		if err := l.Asked(Event{ID: args[0], ToolName: "make"}); err != nil {
			return err
		}
		fmt.Println("asked")
		bufio.NewReader(os.Stdin).ReadString('\n')
		return l.Decided("rejected")
	case "pairs":
		n, err := strconv.Atoi(args[1])
		for i := 0; i < n && err == nil; i++ {
			if err = l.Asked(Event{ID: args[0] + strconv.Itoa(i), ToolName: "make", Reason: strings.Repeat(args[0], 300)}); err == nil {
				err = l.Decided("allowed-once")
			}
		}
		return err
	case "reads": // holds what one who can only read the file can
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Len: writing - 1})
		}
		if err == nil {
			fmt.Println("holds")
			bufio.NewReader(os.Stdin).ReadString('\n')
		}
		return err
	case "limited":
		limit := unix.Rlimit{}
		if limit.Cur, err = strconv.ParseUint(args[0], 10, 64); err != nil {
			return err
		}
		limit.Max = limit.Cur
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		return l.Asked(Event{ID: "late", ToolName: "make"})
	}
	return errors.New("unknown step")
}

func open(path string) (*Log, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	return &Log{FD: fd}, err
}

func logAt(t *testing.T, path string) *Log {
	t.Helper()
	l, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(l.FD) })
	return l
}

func other(name, path string, args ...string) *exec.Cmd {
	return exec.Command(os.Args[0], append([]string{"step", name, path}, args...)...)
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPairs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := logAt(t, path)
	if err := errors.Join(l.Asked(Event{ID: "a", ToolName: "make", CallID: "7", Reason: "to <build>"}), l.Settle(), l.Decided("allowed-once")); err != nil {
		t.Fatal(err)
	}
	want := `{"schema":1,"event":"approval/asked","id":"a","toolName":"make","callId":"7","reason":"to <build>"}
{"schema":1,"event":"approval/decided","id":"a","outcome":"allowed-once"}
`
	if got := text(t, path); got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
	if err := l.Decided("rejected"); err == nil || text(t, path) != want {
		t.Errorf("what nobody asked is decided: %v, %q", err, text(t, path))
	}
}

// A question is open for as long as its process lives, and the next to write gives
// it an outcome. A reader changes nothing.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := logAt(t, path)
	asker := other("ask", path, "a")
	out, err := asker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := asker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := asker.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "asked\n" {
		t.Fatalf("the other says %q, %v", line, err)
	}
	if err := l.Settle(); err != nil || strings.Contains(text(t, path), "decided") {
		t.Errorf("a living question is decided: %v\n%s", err, text(t, path))
	}
	asker.Process.Kill()
	asker.Wait()
	if s, err := l.Read(); err != nil || len(s.Open) != 1 || strings.Contains(text(t, path), "decided") {
		t.Errorf("a reader sees %+v, %v\n%s", s, err, text(t, path))
	}
	for range 2 {
		if err := l.Settle(); err != nil || strings.Count(text(t, path), `"approval/decided","id":"a","outcome":"unavailable"`) != 1 {
			t.Errorf("the dead question: %v\n%s", err, text(t, path))
		}
	}
}

// A line that was cut short is cut off by the next writer, and nothing else is.
// A command that can read the log can hold a lock for reading, with which it keeps
// no question open, and no more than fails one.
func TestHeldByAReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := logAt(t, path)
	dead := `{"schema":1,"event":"approval/asked","id":"a","toolName":"make"}` + "\n"
	if err := os.WriteFile(path, []byte(dead), 0o600); err != nil {
		t.Fatal(err)
	}
	reader := other("reads", path)
	in, err := reader.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := reader.StdoutPipe()
	if err == nil {
		err = reader.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if said, _ := bufio.NewReader(out).ReadString('\n'); said != "holds\n" {
		t.Fatalf("the reader says %q", said)
	}
	want := dead + `{"schema":1,"event":"approval/decided","id":"a","outcome":"unavailable"}` + "\n"
	if err := l.Settle(); err != nil || text(t, path) != want {
		t.Errorf("beside a reader, %v, and the log is %q, want %q", err, text(t, path), want)
	}
	if err := l.Asked(Event{ID: "b", ToolName: "make"}); err == nil || text(t, path) != want {
		t.Errorf("where a reader holds its line a question gave %v, and the log is %q", err, text(t, path))
	}
	in.Close()
	if err := reader.Wait(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(l.Asked(Event{ID: "b", ToolName: "make"}), l.Decided("rejected")); err != nil {
		t.Error(err)
	}
}

func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	whole := fmt.Sprintf(mode, "read-only") + fmt.Sprintf(asked, "a")
	if err := os.WriteFile(path, []byte(whole+`{"schema":1,"event":"approval/decided","id":"a","outcome":"allo`), 0o600); err != nil {
		t.Fatal(err)
	}
	l := logAt(t, path)
	if err := l.Asked(Event{ID: "b", ToolName: "make"}); err != nil {
		t.Fatal(err)
	}
	want := whole + `{"schema":1,"event":"approval/decided","id":"a","outcome":"unavailable"}` + "\n" + fmt.Sprintf(asked, "b")
	if got := text(t, path); got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}

	damaged := fmt.Sprintf(mode, "danger-full-access") + `{"schema":1,"event":"sandbox/mode","mode":"read-on`
	if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Settle(); err == nil || text(t, path) != damaged {
		t.Errorf("a torn mode: %v, %q", err, text(t, path))
	}
}

// Where the file cannot grow, it stays as it is, and parses.
func TestFull(t *testing.T) {
	whole := fmt.Sprintf(mode, "read-only") + fmt.Sprintf(asked, "a")
	for room := 0; room < 200; room += 13 {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := other("limited", path, strconv.Itoa(len(whole)+room)).CombinedOutput()
		got := text(t, path)
		s, parses := Parse([]byte(got))
		if parses != nil || s.Mode != "read-only" || (err == nil) != (got != whole) {
			t.Errorf("with room for %d bytes: %v %s, and the log is %v, %q", room, err, out, parses, got)
		}
		if err == nil {
			return
		}
	}
	t.Error("no room is enough")
}

// A log that would be too large to read is not written, and what was asked before is
// still decided.
func TestTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	line := fmt.Sprintf(mode, "read-only")
	if err := os.WriteFile(path, []byte(strings.Repeat(line, (MaxFile-reserved-200)/len(line))), 0o600); err != nil {
		t.Fatal(err)
	}
	l := logAt(t, path)
	if err := l.Asked(Event{ID: "a", ToolName: "make"}); err != nil {
		t.Fatal(err)
	}
	if err := logAt(t, path).Asked(Event{ID: "b", ToolName: strings.Repeat("x", 300)}); !errors.Is(err, unix.EFBIG) {
		t.Errorf("a question in a log at its limit: %v", err)
	}
	if err := l.Decided("rejected"); err != nil {
		t.Errorf("an outcome in a log at its limit: %v", err)
	}
	if s, err := l.Read(); err != nil || s.Mode != "read-only" || len(s.Open) > 0 {
		t.Errorf("the log says %+v, %v", s, err)
	}
}

func TestConcurrentWriters(t *testing.T) {
	const writers, each = 8, 20
	path := filepath.Join(t.TempDir(), "log")
	l := logAt(t, path)
	var running []*exec.Cmd
	for i := range writers {
		w := other("pairs", path, string(rune('a'+i)), strconv.Itoa(each))
		w.Stdout = os.Stdout
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, w)
	}
	for range 20 {
		if _, err := l.Read(); err != nil {
			t.Error(err)
		}
		if err := l.Settle(); err != nil {
			t.Error(err)
		}
	}
	running[0].Process.Kill()
	for i, w := range running {
		if err := w.Wait(); err != nil && i > 0 {
			t.Error(err)
		}
	}
	if err := l.Settle(); err != nil {
		t.Fatal(err)
	}
	s, err := l.Read()
	if err != nil || len(s.Open) > 0 {
		t.Errorf("the log says %+v, %v", s, err)
	}
	if n := strings.Count(text(t, path), `"outcome":"allowed-once"`); n < (writers-1)*each {
		t.Errorf("%d questions were decided, want %d at least", n, (writers-1)*each)
	}
}

func TestSet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := logAt(t, path)
	added, err := l.Set(func(s State) []Event {
		if s.Mode != "" {
			t.Errorf("an empty log says %+v", s)
		}
		return []Event{{Event: PermissionPreset, Preset: "read-only"}, {Event: SandboxMode, Mode: "read-only"}}
	})
	if err != nil || len(added) != 2 {
		t.Fatal(added, err)
	}
	before := text(t, path)
	if _, err := l.Set(func(State) []Event {
		return []Event{{Event: SandboxMode, Mode: "danger-full-access"}, {Event: SandboxMode, Mode: "all"}}
	}); err == nil || text(t, path) != before {
		t.Errorf("a half of what was set is there: %v, %q", err, text(t, path))
	}
	if s, err := l.Read(); err != nil || s.Mode != "read-only" || s.Preset != "read-only" {
		t.Errorf("the log says %+v, %v", s, err)
	}
}
