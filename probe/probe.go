// Package probe finds out what this host can enforce by doing it: it builds a
// small tree, has the launcher confine a stage of itself to it, and compares what
// that stage could do with what it should.
//
// # Limits
//
// A probe says what worked for the user who ran it, with the policies that it
// tried, at that moment. It leaves nothing behind but is not part of starting a
// command, where a mechanism that does not work fails before the command runs.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limit is how long each step may take where the caller does not say. A step that
// hangs is killed.
const Limit = 5 * time.Second

// ErrTimeout is in the error of a step that was killed.
var ErrTimeout = errors.New("nothing happened")

// Word is the first argument that makes the launcher the probing stage. It is
// followed by the directory of the tree and the pid of a process outside.
const Word = "probe-stage"

// Step is one thing that a backend has to do.
type Step struct {
	Name   string   // what is tried
	Flags  []string // the policy, as flags of the launcher; %D stands for the tree
	Denied []string // the attempts that must fail; every other must succeed
}

// Seen is what the stage could do: for each attempt "ok", or the error.
type Seen map[string]string

const ok = "ok"

// Attempts for which there may be nothing on a host.
const (
	devNull     = "write /dev/null"
	throughProc = "read through /proc"
)

// attempts are what the stage tries, in this order. It is told the tree, and a
// process outside the sandbox.
var attempts = []struct {
	name string
	do   func(dir string, outside int) error
}{
	{"read denied", func(dir string, _ int) error { return read(filepath.Join(dir, "secret", "name")) }},
	{"list denied", func(dir string, _ int) error { return find(filepath.Join(dir, "secret"), "name") }},
	{"write denied", func(dir string, _ int) error { return create(filepath.Join(dir, "secret", "new")) }},
	{throughProc, func(dir string, outside int) error {
		return read(filepath.Join("/proc", strconv.Itoa(outside), "root", dir, "secret", "name"))
	}},
	{"read outside", func(dir string, _ int) error { return read(filepath.Join(dir, "outside")) }},
	{"write outside", func(dir string, _ int) error { return create(filepath.Join(dir, "new")) }},
	{"write own", func(dir string, _ int) error { return create(filepath.Join(dir, "own", "new")) }},
	{devNull, func(string, int) error { return write(os.DevNull) }},
	{"unmount", func(dir string, _ int) error { return unmount(filepath.Join(dir, "secret")) }},
	{"remount writable", func(dir string, _ int) error { return remount(dir) }},
}

// Steps are what every backend is asked to do. The second is separate because
// Landlock can do the first alone without touching the directories above.
var Steps = []Step{
	{
		"restricted writes",
		[]string{"--restrict-writes", "--writable", "%D/own"},
		[]string{"write denied", "write outside", throughProc, "unmount", "remount writable"},
	},
	{
		"denied tree",
		[]string{"--restrict-writes", "--writable", "%D/own", "--deny", "%D/secret"},
		[]string{"read denied", "list denied", "write denied", "write outside", throughProc, "unmount", "remount writable"},
	},
}

// Result is what came of one step.
type Result struct {
	Step   string `json:"step"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
	Hint   string `json:"hint,omitempty"` // the launcher's own
	Err    error  `json:"-"`              // where the stage did not run
	Seen   Seen   `json:"seen,omitempty"` // every attempt, "ok" or its error
}

// Scratch makes a temporary directory with the named directories and files in it, and
// returns what removes it again: also where no descriptor is left to list it with, if
// nothing else is in it then.
func Scratch(dirs, files []string) (dir string, remove func(), err error) {
	fail := func(err error) (string, func(), error) {
		if remove != nil {
			remove()
		}
		return "", nil, fmt.Errorf("probe: %w", err)
	}
	// The runtime ends the program if it has no descriptors for its poller, which it
	// makes with the first file: better before anything is made.
	root, err := os.Open("/")
	switch {
	case err == nil:
		root.Close()
	case len(files) > 0:
		return fail(err) // directories need no descriptor
	}
	if dir, err = os.MkdirTemp("", "letta-confine-probe-"); err != nil {
		return fail(err)
	}
	remove = func() {
		if os.RemoveAll(dir) == nil {
			return
		}
		for _, name := range slices.Concat(files, dirs, []string{"."}) {
			os.Remove(filepath.Join(dir, name))
		}
	}
	for _, name := range dirs {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return fail(err)
		}
	}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			return fail(err)
		}
	}
	return dir, remove, nil
}

// Run tries every step with one backend of the launcher at the given path. It
// fails where the host cannot even do the unconfined control.
func Run(launcher, backend string, limit time.Duration, flags ...string) ([]Result, error) {
	dir, remove, err := Scratch([]string{"own", "secret"}, []string{"secret/name", "outside"})
	if err != nil {
		return nil, err
	}
	defer remove()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	control, err := see(limit, dir, launcher, Word, dir, strconv.Itoa(os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("probe: the unconfined control: %w", err)
	}
	var free []string
	if control[devNull] != ok {
		free = []string{devNull} // the host has none to let through
	}
	vain := append(slices.Clone(free), privileged...)
	if _, err := os.Stat("/proc/self"); err != nil {
		vain = append(vain, throughProc)
	}
	if wrong := control.surprise(nil, vain); wrong != "" {
		return nil, fmt.Errorf("probe: the unconfined control: %s", wrong)
	}
	var results []Result
	for _, step := range Steps {
		results = append(results, try(limit, step, free, dir, launcher, backend, flags))
		if errors.Is(results[len(results)-1].Err, ErrTimeout) {
			break // the next would hang as long
		}
	}
	return results, nil
}

func try(limit time.Duration, step Step, free []string, dir, launcher, backend string, flags []string) Result {
	args := append([]string{"--backend", backend, "--require", "any", "--quiet"}, flags...)
	for _, f := range step.Flags {
		args = append(args, strings.ReplaceAll(f, "%D", dir))
	}
	args = append(args, "--", launcher, Word, dir, strconv.Itoa(os.Getpid()))
	seen, err := see(limit, dir, launcher, args...)
	if err != nil {
		r := Result{Step: step.Name, Reason: err.Error(), Err: err}
		if said, ok := errors.AsType[*sayError](err); ok {
			r.Hint = said.hint
		}
		return r
	}
	if wrong := seen.surprise(step.Denied, free); wrong != "" {
		return Result{Step: step.Name, Reason: wrong, Seen: seen}
	}
	return Result{Step: step.Name, OK: true, Seen: seen}
}

// Attempts returns the names of what is tried, in order.
func Attempts() []string {
	var names []string
	for _, a := range attempts {
		names = append(names, a.name)
	}
	return names
}

// surprise names the first attempt that did not end as it should: denied ones
// fail, free ones may end as they like, all others succeed.
func (s Seen) surprise(denied, free []string) string {
	for _, a := range attempts {
		got, tried := s[a.name]
		switch mustFail := slices.Contains(denied, a.name); {
		case !tried:
			return a.name + ": not tried"
		case slices.Contains(free, a.name):
		case mustFail && got == ok:
			return a.name + ": it succeeded"
		case !mustFail && got != ok:
			return a.name + ": " + got
		}
	}
	return ""
}

// see runs a program that ends in the stage, and returns what the stage saw.
func see(limit time.Duration, dir, program string, args ...string) (Seen, error) {
	for _, made := range []string{"own/new", "secret/new", "new"} {
		if err := os.Remove(filepath.Join(dir, made)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.WaitDelay = limit
	cmd.Stdin = strings.NewReader("") // there may be no /dev/null to open for it
	OwnGroup(cmd)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && ctx.Err() != nil { // else it was done, and only this process late
		return nil, fmt.Errorf("%w for %v", ErrTimeout, limit)
	}
	if err != nil && stderr.Len() == 0 {
		return nil, err // it did not start, or had no word to say
	}
	if err != nil {
		first, rest, _ := strings.Cut(strings.TrimPrefix(stderr.String(), "letta-confine: error: "), "\n")
		hint, _, _ := strings.Cut(strings.TrimPrefix(rest, "letta-confine: hint: "), "\n")
		return nil, &sayError{strings.TrimPrefix(first, "no backend can confine this command: "), hint}
	}
	var seen Seen
	if err := json.Unmarshal(out, &seen); err != nil {
		return nil, fmt.Errorf("the stage's answer: %w", err)
	}
	return seen, nil
}

// sayError is what a launcher that failed said.
type sayError struct{ text, hint string }

func (e *sayError) Error() string { return e.text }

// Stage is the confined side: it tries everything, and prints what it saw.
func Stage(dir string, outside int) error {
	seen := make(Seen)
	for _, a := range attempts {
		seen[a.name] = outcome(a.do(dir, outside))
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

func outcome(err error) string {
	if err == nil {
		return ok
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

func create(file string) error { return os.WriteFile(file, nil, 0o600) }

// write opens what is there for writing.
func write(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func read(file string) error {
	_, err := os.ReadFile(file)
	return err
}

func find(dir, name string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == name {
			return nil
		}
	}
	return os.ErrNotExist
}
