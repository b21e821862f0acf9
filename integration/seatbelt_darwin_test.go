package integration

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// The tests of Seatbelt on a Mac. Each row is done twice by the same helper on an
// equal tree: unconfined, where it must succeed, and confined.

// TestMain runs the tests, or is the helper that they start.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "call" {
		fmt.Println(errnoName(calls[os.Args[2]](strings.Split(os.Args[3], " "))))
		os.Exit(0)
	}
	status := m.Run()
	if file, err := builtLauncher(); err == nil {
		os.RemoveAll(filepath.Dir(file))
	}
	os.Exit(status)
}

// builtLauncher is the launcher, outside of what a policy here makes writable.
var builtLauncher = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("/private/var/tmp", "letta-confine-bin-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "letta-confine")
	build := exec.Command("go", "build", "-trimpath", "-tags", "launcher", "-o", file, "../cmd/letta-confine")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return file, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return file, nil
})

// calls are what the helper can do with paths.
var calls = map[string]func(p []string) error{
	"read":     func(p []string) error { _, err := os.ReadFile(p[0]); return err },
	"list":     func(p []string) error { _, err := os.ReadDir(p[0]); return err },
	"stat":     func(p []string) error { return unix.Stat(p[0], new(unix.Stat_t)) },
	"append":   func(p []string) error { return write(p[0], unix.O_APPEND) },
	"create":   func(p []string) error { return write(p[0], unix.O_CREAT|unix.O_EXCL) },
	"truncate": func(p []string) error { return unix.Truncate(p[0], 0) },
	"mkdir":    func(p []string) error { return unix.Mkdir(p[0], 0o755) },
	"unlink":   func(p []string) error { return unix.Unlink(p[0]) },
	"rename":   func(p []string) error { return unix.Rename(p[0], p[1]) },
	"link":     func(p []string) error { return unix.Link(p[0], p[1]) },
	"clone":    func(p []string) error { return unix.Clonefile(p[0], p[1], 0) },
	"chmod":    func(p []string) error { return unix.Chmod(p[0], 0o700) },
	"utimes":   func(p []string) error { return unix.Utimes(p[0], make([]unix.Timeval, 2)) },
	"exec":     func(p []string) error { return exec.Command(p[0]).Run() },
	"connect": func(p []string) error {
		c, err := net.Dial("unix", p[0])
		if err == nil {
			c.Close()
		}
		return err
	},
}

func write(path string, flags int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close())
}

func errnoName(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// seatbeltTree makes a tree, on which %D in an argument stands for its directory.
func seatbeltTree(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/private/tmp", "lc-") // short: a socket's path has 104 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, sub := range []string{"work", "letta/agents/alice", "letta/agents/bob", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"work/file", "letta/agents/alice/x.md", "letta/agents/bob/x.md", "out/file", "out/key", "letta/settings.json"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../letta/agents/bob/x.md", filepath.Join(dir, "work/link")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "letta/agents/bob/s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return dir
}

func needSeatbelt(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("/usr/bin/sandbox-exec", "-p", "(version 1)(allow default)", "/usr/bin/true").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("sandbox-exec: %w: %s", err, out)
	}
	testenv.Need(t, testenv.FacilitySeatbelt, err)
	file, err := builtLauncher()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// run returns the status and the output of a program in the tree's work directory.
func runSeatbelt(t *testing.T, dir, program string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "%D", dir)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = filepath.Join(dir, "work")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// seatbeltFlags deny the agents but for alice's own, and restrict writes to the
// work directory.
var seatbeltFlags = []string{
	"--deny", "%D/letta/agents", "--writable", "%D/letta/agents/alice", "--deny", "%D/out/key",
	"--restrict-writes", "--writable", "%D/work",
}

func TestSeatbelt(t *testing.T) {
	launcher := needSeatbelt(t)
	for _, row := range []struct{ call, paths, want, needs string }{
		{"read", "%D/letta/agents/bob/x.md", "EPERM", ""},
		{"read", "%D/letta/AGENTS/bob/x.md", "EPERM", "a volume that folds case"},
		{"read", "/System/Volumes/Data%D/letta/agents/bob/x.md", "EPERM", ""},
		{"read", "%D/work/link", "EPERM", ""},
		{"read", "%D/out/key", "EPERM", ""},
		{"list", "%D/letta/agents/bob", "EPERM", ""},
		{"list", "%D/letta/agents", "EPERM", ""},
		{"stat", "%D/letta/agents", "ok", ""},
		{"stat", "%D/letta/agents/bob/x.md", "EPERM", ""},
		{"exec", "%D/letta/agents/bob/x.md", "EPERM", ""},
		{"append", "%D/letta/agents/bob/x.md", "EPERM", ""},
		{"create", "%D/letta/agents/new", "EPERM", ""},
		{"connect", "%D/letta/agents/bob/s", "EPERM", ""},
		{"rename", "%D/letta/agents %D/letta/moved", "EPERM", ""},
		{"rename", "%D/letta/agents/bob/x.md %D/work/x.md", "EPERM", ""},
		{"link", "%D/letta/agents/bob/x.md %D/work/x.md", "EPERM", ""},
		{"clone", "%D/letta/agents/bob/x.md %D/work/x.md", "EPERM", "APFS"},
		{"link", "%D/out/file %D/work/linked", "EPERM", ""},

		{"read", "%D/letta/agents/alice/x.md", "ok", ""},
		{"append", "%D/letta/agents/alice/x.md", "ok", ""},
		{"create", "%D/letta/agents/alice/new", "ok", ""},
		{"list", "%D/letta/agents/alice", "ok", ""},
		{"read", "%D/out/file", "ok", ""},
		{"append", "%D/work/file", "ok", ""},
		{"rename", "%D/work/file %D/work/moved", "ok", ""},
		{"append", "/dev/null", "ok", ""},

		{"append", "%D/out/file", "EPERM", ""},
		{"truncate", "%D/out/file", "EPERM", ""},
		{"unlink", "%D/out/file", "EPERM", ""},
		{"chmod", "%D/out/file", "EPERM", ""},
		{"utimes", "%D/out/file", "EPERM", ""},
		{"create", "%D/out/new", "EPERM", ""},
		{"mkdir", "%D/out/dir", "EPERM", ""},
		{"rename", "%D/work %D/elsewhere", "EPERM", ""},
	} {
		t.Run(row.call+" "+row.paths, func(t *testing.T) {
			call := []string{"call", row.call, row.paths}
			if _, out, errs := runSeatbelt(t, seatbeltTree(t), os.Args[0], call...); out != "ok\n" {
				if row.needs != "" {
					t.Skipf("needs %s: %s", row.needs, out)
				}
				t.Fatalf("control: unconfined it gives %q; stderr %q", out, errs)
			}
			args := append(append([]string{}, seatbeltFlags...), "--", os.Args[0], "call", row.call, row.paths)
			if _, out, errs := runSeatbelt(t, seatbeltTree(t), launcher, args...); out != row.want+"\n" {
				t.Errorf("%s %s = %q, want %s; stderr %q", row.call, row.paths, out, row.want, errs)
			}
		})
	}
}

// TestSeatbeltStatus: the process contract around sandbox-exec.
func TestSeatbeltStatus(t *testing.T) {
	launcher := needSeatbelt(t)
	for _, c := range []struct {
		name   string
		argv   []string
		status int
		stderr string
	}{
		{"its own status", []string{"sh", "-c", "exit 7"}, 7, ""},
		{"its own 65", []string{"sh", "-c", "exit 65"}, 65, ""},
		{"its own 71", []string{"sh", "-c", "exit 71"}, 71, ""},
		{"not found", []string{"/no/such"}, 127, "letta-confine: error: "},
		{"cannot run", []string{"/etc/hosts"}, 126, "letta-confine: error: "},
		{"hidden", []string{"%D/letta/agents/bob/x.md"}, 125, "letta-confine: error: "},
		{"nested", []string{launcher, "--restrict-writes", "--", "true"}, 125, "letta-confine: error: no backend can confine this command: seatbelt: sandbox-exec could not apply"},
		{"descriptors", []string{"sh", "-c", "test -z \"$(ls /dev/fd | grep -v '^[0-3]$')\""}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append(append([]string{}, seatbeltFlags...), "--")
			status, out, errs := runSeatbelt(t, seatbeltTree(t), launcher, append(args, c.argv...)...)
			if status != c.status || !strings.HasPrefix(errs, c.stderr) || (c.stderr == "") != (errs == "") {
				t.Errorf("status %d, stdout %q, stderr %q; want %d and %q", status, out, errs, c.status, c.stderr)
			}
		})
	}
}

// TestSeatbeltProof: the stage inside saw the denied roots refused.
func TestSeatbeltProof(t *testing.T) {
	launcher := needSeatbelt(t)
	dir := seatbeltTree(t)
	args := append(append([]string{}, seatbeltFlags...), "--report", "%D/out/report", "--", "true")
	status, _, errs := runSeatbelt(t, dir, launcher, args...)
	text, err := os.ReadFile(filepath.Join(dir, "out/report"))
	if want := `"proof":{"profile":"applied","refused":2}`; status != 0 || err != nil || !strings.Contains(string(text), want) {
		t.Errorf("status %d, stderr %q, %v, report %s; want %s in it", status, errs, err, text, want)
	}
}

// TestSeatbeltProbe: the probe finds what the tests found.
func TestSeatbeltProbe(t *testing.T) {
	launcher := needSeatbelt(t)
	status, out, errs := runSeatbelt(t, seatbeltTree(t), launcher, "probe", "--self-test")
	if status > 1 || !strings.HasPrefix(out, "seatbelt: usable, enforcement ") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}
