//go:build linux || darwin

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The tests of the Seatbelt backend run on any system: this test binary is the
// launcher, a shell script stands for sandbox-exec, and nothing is confined. What
// they show is the contract around sandbox-exec, not what Seatbelt does.

// Environment variables that make the test binary the launcher. The product reads
// neither: its sandbox-exec is a constant.
const (
	asLauncher  = "CONFINE_TEST_LAUNCHER"
	fakeProgram = "CONFINE_TEST_SANDBOX_EXEC"
)

func init() {
	if os.Getenv(asLauncher) == "" {
		return
	}
	if program := os.Getenv(fakeProgram); program != "" {
		sandboxExec, mechanisms = program, []mechanism{seatbeltMechanism}
	}
	if len(os.Args) > 1 && os.Args[1] == seatbeltWord {
		os.Exit(seatbeltStage(os.Args[2:]))
	}
	os.Exit(run(os.Args[1:]))
}

// Scripts that stand for sandbox-exec. $LOG collects the arguments of each start.
const (
	record = `printf '%s\0' "$@" >> "$LOG"; printf '\n\0' >> "$LOG"; `
	apply  = record + `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`
	strip  = `unset DYLD_INSERT_LIBRARIES; ` + apply
	refuse = `echo "sandbox-exec: <input string>:1: unbound variable" >&2; exit 65`
	nested = `echo "sandbox-exec: sandbox_apply: Operation not permitted" >&2; exit 71`
	// late lets the trial pass and fails then, which no sandbox-exec should.
	late = `if [ -e "$LOG" ]; then exit 71; fi; ` + apply
)

// fakeMac is a place to start the launcher in.
type fakeMac struct {
	dir, log string
	program  string // the stand-in for sandbox-exec
	env      []string
	files    []*os.File
}

func newMac(t *testing.T, script string) *fakeMac {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &fakeMac{dir: dir, log: filepath.Join(dir, "log"), program: filepath.Join(dir, "sandbox-exec")}
	if script != "" {
		m.write(t, "sandbox-exec", "#!/bin/sh\n"+script+"\n")
	}
	for _, sub := range []string{"own", "secret"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *fakeMac) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

type outcome struct {
	status         int
	stdout, stderr string
	pid            int
}

// run starts the launcher. %D in an argument is the directory.
func (m *fakeMac) run(t *testing.T, args ...string) outcome {
	t.Helper()
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "%D", m.dir)
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = filepath.Join(m.dir, "own")
	cmd.Env = append(os.Environ(), asLauncher+"=1", fakeProgram+"="+m.program, "LOG="+m.log, "HOME="+m.dir)
	cmd.Env = append(cmd.Env, m.env...)
	cmd.ExtraFiles = m.files
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok && ended.Sys().(syscall.WaitStatus).Signaled() {
		return outcome{128 + int(ended.Sys().(syscall.WaitStatus).Signal()), stdout.String(), stderr.String(), cmd.Process.Pid}
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), cmd.Process.Pid}
}

// starts returns the arguments of each start of sandbox-exec.
func (m *fakeMac) starts(t *testing.T) (list [][]string) {
	t.Helper()
	text, err := os.ReadFile(m.log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var args []string
	for arg := range strings.SplitSeq(string(text), "\x00") {
		if arg != "\n" {
			args = append(args, arg)
			continue
		}
		list, args = append(list, args), nil
	}
	return list
}

// writes restricts writes and denies nothing, so that a stand-in that confines
// nothing is not found out.
var writes = []string{"--restrict-writes", "--writable", "%D/own"}
