//go:build linux || darwin

package approval

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests run scripts of sh as answerers, which get the id with sed.
const (
	getID  = `id=$(sed 's/.*"id":"\([0-9a-f]*\)".*/\1/')` + "\n"
	allows = getID + `echo "{\"id\":\"$id\",\"outcome\":\"allowed-once\"}"` + "\n"
)

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answerer")
	syscall.ForkLock.Lock() // else a child started meanwhile has it open for writing
	defer syscall.ForkLock.Unlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func request(t *testing.T) Request {
	t.Helper()
	r, err := New(Request{ToolName: "make", Reason: "a test"}, []string{"make"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestProgram(t *testing.T) {
	const says = `echo "{\"id\":\"$id\",\"outcome\":\"`
	for _, c := range []struct {
		name, script string
		limit        time.Duration
		want         Outcome
	}{
		{"allows", allows, time.Minute, AllowedOnce},
		{"rejects", getID + says + `rejected\"}"`, time.Minute, Rejected},
		{"cancels", getID + says + `cancelled\"}"`, time.Minute, Cancelled},
		{"cannot", getID + says + `unavailable\"}"`, time.Minute, Unavailable},
		{"says nothing", "cat >/dev/null", time.Minute, Unavailable},
		{"does not read", "exit 0", time.Minute, Unavailable},
		{"guesses an id", `echo '{"id":"0123","outcome":"allowed-once"}'`, time.Minute, Unavailable},
		{"gives the request back", "cat", time.Minute, Unavailable},
		{"says more before", "echo thinking\n" + allows, time.Minute, Unavailable},
		{"says more after", allows + "echo done", time.Minute, Unavailable},
		{"answers twice", allows + `echo "{\"id\":\"$id\",\"outcome\":\"allowed-once\"}"`, time.Minute, Unavailable},
		{"says too much", getID + "yes", time.Minute, Unavailable},
		{"allows and fails", allows + "exit 1", time.Minute, Unavailable},
		{"allows and is killed", allows + "kill -9 $$", time.Minute, Unavailable},
		{"is killed", "kill -9 $$", time.Minute, Unavailable},
		{"is slow", "sleep 60\n" + allows, 100 * time.Millisecond, Unavailable},
		{"is slow to end", allows + "exec >&-; sleep 60", 300 * time.Millisecond, Unavailable},
		{"leaves its output open", "sleep 60 &\n" + allows, 300 * time.Millisecond, Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			got, err := Program(script(t, c.script), nil, c.limit)(request(t))
			if got != c.want || (err != nil) != (c.want == Unavailable) {
				t.Errorf("the outcome is %v, %v, want %v", got, err, c.want)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	for _, path := range []string{"/no/such/answerer", "/dev/null", "/"} {
		if got, err := Program(path, nil, time.Minute)(request(t)); got != Unavailable || err == nil {
			t.Errorf("%s gives %v, %v", path, got, err)
		}
	}
}

// An answerer has three descriptors, the environment that it was given, a group of
// its own, and nothing that it started goes on.
func TestProgramIsAlone(t *testing.T) {
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	secret, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	if _, err := unix.FcntlInt(secret.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOME_TOKEN", "hidden")
	text := `{ ls /proc/self/fd 2>/dev/null || ls /dev/fd; env; pwd; ps -o pgid= -p $$ || echo $$; } >` + said + ` 2>&1
(sleep 60 <&- >&- 2>&- & echo $! >` + said + `.pid)
` + allows
	if got, err := Program(script(t, text), []string{"PATH=/usr/bin:/bin", "HOME=/nowhere"}, time.Minute)(request(t)); got != AllowedOnce {
		t.Fatalf("the outcome is %v, %v", got, err)
	}
	out, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	for _, fd := range lines[:len(lines)-1] { // the last is its group
		if n, err := strconv.Atoi(fd); err == nil && n > 3 && n < 100 { // 3 is the listing's own
			t.Errorf("it has descriptor %d:\n%s", n, out)
		}
	}
	if bytes.Contains(out, []byte("hidden")) || !bytes.Contains(out, []byte("HOME=/nowhere")) || !bytes.Contains(out, []byte("\n/\n")) {
		t.Errorf("its environment or directory is another:\n%s", out)
	}
	if pgid := lines[len(lines)-1]; pgid == strconv.Itoa(unix.Getpgrp()) {
		t.Error("it is in the group of its parent")
	}
	pid, err := os.ReadFile(said + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n)); err != nil || bytes.Contains(state, []byte(") Z ")) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("what it started goes on")
}

func TestDescriptor(t *testing.T) {
	answer := func(r Request, outcome string) string {
		return `{"id":"` + r.ID + `","outcome":"` + outcome + `"}` + "\n"
	}
	for _, c := range []struct {
		name  string
		limit time.Duration
		says  func(r Request) []string // each with one write
		shut  bool
		want  Outcome
	}{
		{"allows", time.Minute, func(r Request) []string { return []string{answer(r, "allowed-once")} }, false, AllowedOnce},
		{"in pieces", time.Minute, func(r Request) []string { a := answer(r, "rejected"); return []string{a[:9], a[9:]} }, false, Rejected},
		{"more than one line", time.Minute, func(r Request) []string { return []string{answer(r, "allowed-once") + "x"} }, false, Unavailable},
		{"another id", time.Minute, func(Request) []string { return []string{answer(Request{ID: "0123"}, "allowed-once")} }, false, Unavailable},
		{"no end", time.Minute, func(Request) []string { return []string{strings.Repeat("x", MaxLine+1)} }, false, Unavailable},
		{"gone", time.Minute, func(Request) []string { return nil }, true, Unavailable},
		{"gone in the middle", time.Minute, func(r Request) []string { return []string{strings.TrimSpace(answer(r, "allowed-once"))} }, true, Unavailable},
		{"slow", 100 * time.Millisecond, func(Request) []string { return nil }, false, Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(pair[0])
			r := request(t)
			done := make(chan struct{})
			go func() {
				defer close(done)
				buf := make([]byte, MaxLine+1)
				n, err := unix.Read(pair[1], buf)
				if n == 0 && c.limit < time.Minute {
					return // on a busy host the time was over before it asked
				}
				if err != nil || !bytes.Equal(buf[:n], r.Line()) {
					t.Errorf("the other end reads %q, %v", buf[:n], err)
				}
				for _, text := range c.says(r) {
					unix.Write(pair[1], []byte(text))
					time.Sleep(20 * time.Millisecond)
				}
				if c.shut {
					unix.Shutdown(pair[1], unix.SHUT_RDWR)
				}
			}()
			got, err := Descriptor(pair[0], c.limit)(r)
			if got != c.want || (err != nil) != (c.want == Unavailable) {
				t.Errorf("the outcome is %v, %v, want %v", got, err, c.want)
			}
			unix.Shutdown(pair[0], unix.SHUT_WR) // who still waits for a request
			<-done
			unix.Close(pair[1])
		})
	}
	if got, err := Descriptor(987, time.Minute)(request(t)); got != Unavailable || err == nil {
		t.Errorf("a closed descriptor gives %v, %v", got, err)
	}
}

// A signal that would end the launcher ends the question, and the answerer.
func TestSignalCancels(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	go func() {
		for range 3000 {
			if text, err := os.ReadFile(pidFile); err == nil && len(text) > 1 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		unix.Kill(unix.Getpid(), unix.SIGTERM)
	}()
	got, err := Program(script(t, "echo $$ >"+pidFile+"; exec sleep 60"), nil, time.Minute)(request(t))
	if got != Cancelled || err == nil {
		t.Errorf("the outcome is %v, %v, want cancelled", got, err)
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, 0); err != unix.ESRCH {
		t.Errorf("the answerer is there still: %v", err)
	}
}
