package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/landlock"
)

// verdict is what the launcher did on one host for one user. Each text names a
// failure of the containment set in capitals, which no expected text has.
type verdict struct {
	Kernel   string `json:"kernel"`
	ABI      int    `json:"abi"`      // Landlock's, 0 for none
	Probe    string `json:"probe"`    // exit status of probe
	Auto     string `json:"auto"`     // the backend that auto took, or "refused"
	Exit     string `json:"exit"`     // the launcher's exit status under auto
	Bwrap    string `json:"bwrap"`    // enforcement and gaps, or the code of what is missing
	Landlock string `json:"landlock"` // likewise
}

// mark begins the line that carries a verdict, among whatever a console shows.
const mark = "VERDICT "

// patience is how long one launch may take; an emulated processor is slow.
const patience = 30 * time.Second

// acts are what a confined command tries, and how each backend must answer. The
// control, which nothing confines, succeeds in all.
var acts = []struct {
	name            string
	do              func(dir string) error
	bwrap, landlock unix.Errno
}{
	{"read denied", func(dir string) error { return open(dir+"/secret/file", unix.O_RDONLY) }, unix.ENOENT, unix.EACCES},
	{"write denied", func(dir string) error { return open(dir+"/secret/new", unix.O_WRONLY|unix.O_CREAT) }, unix.EROFS, unix.EACCES},
	{"read read-only", func(dir string) error { return open(dir+"/fixed/file", unix.O_RDONLY) }, 0, 0},
	{"write read-only", func(dir string) error { return open(dir+"/fixed/file", unix.O_WRONLY) }, unix.EROFS, unix.EACCES},
	{"read outside", func(dir string) error { return open(dir+"/outside", unix.O_RDONLY) }, 0, 0},
	{"write outside", func(dir string) error { return open(dir+"/outside", unix.O_WRONLY) }, unix.EROFS, unix.EACCES},
	{"create outside", func(dir string) error { return open(dir+"/new", unix.O_WRONLY|unix.O_CREAT) }, unix.EROFS, unix.EACCES},
	{"write own", func(dir string) error { return open(dir+"/own/new", unix.O_WRONLY|unix.O_CREAT) }, 0, 0},
}

func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// actsMain is the confined command: it tries all acts, and leaves what came of
// them, one errno a line, in the one place where it may write.
func actsMain(args []string) int {
	dir := args[0]
	var seen bytes.Buffer
	for _, a := range acts {
		errno := unix.Errno(0)
		if err := a.do(dir); err != nil {
			errno, _ = errors.AsType[unix.Errno](err)
		}
		fmt.Fprintln(&seen, int(errno))
	}
	if err := os.WriteFile(dir+"/own/seen", seen.Bytes(), 0o600); err != nil {
		return 1
	}
	return 0
}

// judge is a host seen from the inside.
type judge struct {
	self, launcher string
	through        []string // what starts the launcher: nothing, or sim with its flags
	dir            string   // a tree of its own
	flags          []string
}

// judgeMain judges the host that it runs on, and prints the verdict.
func judgeMain(args []string) int {
	var j judge
	f := flag.NewFlagSet("judge", flag.ExitOnError)
	f.StringVar(&j.self, "self", "/usr/bin/hosts", "this program")
	f.StringVar(&j.launcher, "launcher", "/usr/bin/letta-confine", "the launcher")
	through := f.String("through", "", "flags of sim, which the launcher is started through")
	bwrap := f.String("bwrap", "", "the launcher's --bwrap")
	f.Parse(args)
	if *through != "" {
		j.through = append(append([]string{j.self, "sim"}, strings.Fields(*through)...), "--")
	}
	if *bwrap != "" {
		j.flags = []string{"--bwrap", *bwrap}
	}
	v, err := j.judge()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hosts: judge:", err)
		return 1
	}
	line, _ := json.Marshal(v)
	fmt.Printf("%s%s\n", mark, line)
	return 0
}

func (j *judge) judge() (v verdict, err error) {
	if j.dir, err = os.MkdirTemp("", "hosts-judge-"); err != nil {
		return v, err
	}
	defer os.RemoveAll(j.dir)
	for _, sub := range []string{"own", "secret", "fixed"} {
		if err := os.Mkdir(filepath.Join(j.dir, sub), 0o700); err != nil {
			return v, err
		}
	}
	for _, file := range []string{"secret/file", "fixed/file", "outside"} {
		if err := os.WriteFile(filepath.Join(j.dir, file), nil, 0o600); err != nil {
			return v, err
		}
	}
	if r := j.run([]string{j.self, "acts", j.dir}); r.wrong(control) != "" {
		return v, fmt.Errorf("the unconfined control: %s", r.wrong(control))
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return v, err
	}
	v.Kernel = unix.ByteSliceToString(u.Release[:])
	if v.ABI, err = landlock.ABI(); err != nil {
		v.ABI = 0
	}
	probed := j.probe(&v)
	auto := j.run(j.confined("--backend", "auto"))
	v.Auto, v.Exit = auto.backend, fmt.Sprint(auto.status)
	if v.Auto == "" {
		v.Auto = "refused"
	}
	v.Auto += auto.wrong(auto.backend)
	v.Bwrap, v.Landlock = j.backend(probed, "bwrap"), j.backend(probed, "landlock")+j.logged()
	return v, nil
}

// confined is a command line that has the launcher confine the acts.
func (j *judge) confined(flags ...string) []string {
	line := append(append(append(slices.Clone(j.through), j.launcher), j.flags...), flags...)
	return append(line, "--restrict-writes", "--deny", j.dir+"/secret", "--read-only", j.dir+"/fixed", "--writable", j.dir+"/own",
		"--quiet", "--report", j.dir+"/report", "--", j.self, "acts", j.dir)
}

// backend judges one backend: what probe says of it, held against what it does,
// with a note where the two differ.
func (j *judge) backend(probed map[string]string, name string) string {
	said := probed[name]
	r := j.run(j.confined("--backend", name, "--require", "any"))
	usable := strings.HasPrefix(said, "full") || strings.HasPrefix(said, "partial")
	if r.backend == "" && usable {
		return said + " but refused: " + strings.TrimPrefix(r.stderr, "letta-confine: error: ")
	}
	if r.backend != "" && !usable {
		said += " but used"
	}
	return said + r.wrong(r.backend)
}

// logged says, on a host that was booted with a log of its audit, whether
// --audit-denials finds there each act that Landlock denied, or why it cannot.
func (j *judge) logged() string {
	if line, err := os.ReadFile("/proc/cmdline"); err != nil || !strings.Contains(string(line), auditOn) {
		return ""
	}
	r := j.run(j.confined("--backend", "landlock", "--audit-denials", "--supervise"))
	if wrong := r.wrong(r.backend); wrong != "" || r.backend == "" {
		return " UNLOGGED" + wrong
	}
	text, err := os.ReadFile(j.dir + "/report")
	if err != nil {
		return " UNLOGGED " + err.Error()
	}
	var e struct {
		Denied, Unreadable string
		Denials            []struct {
			Path, By   string
			OverDenial bool
		}
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	json.Unmarshal(lines[len(lines)-1], &e)
	if e.Unreadable != "" {
		return " but " + e.Unreadable
	}
	for _, path := range []string{"/secret/file", "/secret", "/fixed/file", "/outside", ""} {
		found := false
		for _, d := range e.Denials {
			found = found || d.Path == j.dir+path && d.By == "kernel" && !d.OverDenial
		}
		if !found || e.Denied != "denied" {
			return fmt.Sprintf(" UNLOGGED %q: %s", path, lines[len(lines)-1])
		}
	}
	return " and logged"
}

// auditOn is what a kernel is booted with that logs from the beginning.
const auditOn = "audit=1"

// probe has the launcher probe the host.
func (j *judge) probe(v *verdict) map[string]string {
	r := j.run(append(append(append(slices.Clone(j.through), j.launcher, "probe", "--probe-timeout", "60s"), j.flags...), "--json"))
	v.Probe = fmt.Sprint(r.status)
	var answer struct {
		Backends []struct {
			Backend, Enforcement, Code, Cause string
			Gaps                              []string
		}
	}
	said := map[string]string{"bwrap": "unknown", "landlock": "unknown"}
	if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil {
		v.Probe += strings.TrimRight(" "+oneLine(r.stderr), " ")
		return said
	}
	for _, b := range answer.Backends {
		if b.Enforcement == "unusable" {
			said[b.Backend] = strings.TrimSpace(b.Code + " " + b.Cause)
			continue
		}
		said[b.Backend] = strings.Join(append([]string{b.Enforcement}, b.Gaps...), " ") + wrongCode(b.Backend, b.Code, b.Gaps, v.ABI)
	}
	return said
}

// wrongCode says where the code of a usable backend is not what the host is: an older
// Landlock is named by its version.
func wrongCode(backend, code string, gaps []string, abi int) string {
	want := ""
	if backend == "landlock" && (slices.Contains(gaps, "truncate") || slices.Contains(gaps, "unix-sockets")) {
		want = fmt.Sprintf("landlock-abi-%d", abi)
	}
	if code == want {
		return ""
	}
	return fmt.Sprintf(" CODE %q, want %q", code, want)
}

// result is how one launch ended.
type result struct {
	status         int
	stdout, stderr string
	backend        string   // that the report says was started
	seen           []string // an errno for each act, if the acts ran
}

func (j *judge) run(line []string) result {
	for _, made := range []string{"own/new", "own/seen", "secret/new", "new", "report"} {
		os.Remove(filepath.Join(j.dir, made))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = filepath.Join(j.dir, "own")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + cmd.Dir, "TMPDIR=" + os.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	// A pipe, because a host may have no /dev/null for an empty one.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(""), &stdout, &stderr
	err := cmd.Run()
	r := result{stdout: stdout.String(), stderr: oneLine(stderr.String())}
	switch _, ended := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		r.status, r.stderr = -1, "HUNG for "+patience.String()
	case err != nil && !ended:
		r.status, r.stderr = -1, err.Error()
	default:
		r.status = cmd.ProcessState.ExitCode()
	}
	r.backend = startedBackend(j.dir + "/report")
	if text, err := os.ReadFile(j.dir + "/own/seen"); err == nil {
		r.seen = strings.Fields(string(text))
	}
	return r
}

// startedBackend returns the backend of a report, if it says that the command
// was started.
func startedBackend(report string) string {
	file, err := os.Open(report)
	if err != nil {
		return ""
	}
	defer file.Close()
	planned, started := "", ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e struct{ Event, Backend string }
		json.Unmarshal(lines.Bytes(), &e)
		switch e.Event {
		case "plan":
			planned = e.Backend
		case "started":
			started = planned
		}
	}
	return started
}

// control is in the place of a backend where nothing confines.
const control = "control"

// wrong says in capitals where a launch did not do what it should: with a
// backend every act was answered in its dialect, without one nothing ran at all,
// and the launcher said why in its own words.
func (r result) wrong(backend string) string {
	if backend == "" {
		switch {
		case r.seen != nil:
			return fmt.Sprintf(" RAN without a backend (%d)", r.status)
		case r.status == 2 && r.stderr == goRuntime:
			return ", ended by " + goRuntime
		case r.status != 125 || !strings.HasPrefix(r.stderr, "letta-confine: error: "):
			return fmt.Sprintf(" DIED (%d): %s", r.status, r.stderr)
		}
		return ""
	}
	if r.status != 0 || len(r.seen) != len(acts) {
		return fmt.Sprintf(" FAILED (%d, %d acts): %s", r.status, len(r.seen), r.stderr)
	}
	for i, a := range acts {
		want := map[string]unix.Errno{"bwrap": a.bwrap, "landlock": a.landlock}[backend]
		if r.seen[i] != fmt.Sprint(int(want)) {
			return fmt.Sprintf(" LEAK: %s gives errno %s, want %v", a.name, r.seen[i], want)
		}
	}
	return ""
}

// goRuntime stands for what a Go program says that did not get as far as its main
// function, for want of threads or of memory (docs/limits.md).
const goRuntime = "Go's runtime"

// oneLine returns the first line of what a program said.
func oneLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(line, "runtime: ") || strings.HasPrefix(line, "fatal error: ") {
		return goRuntime
	}
	return line
}
