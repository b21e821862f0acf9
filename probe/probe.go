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
	"strings"
	"time"
)

// Limit is how long each step may take. A step that hangs is killed.
const Limit = 2 * time.Second

// Word is the first argument that makes the launcher the probing stage. It is
// followed by the directory of the tree.
const Word = "probe-stage"

// Step is one thing that a backend has to do.
type Step struct {
	Name  string   // what is tried
	Flags []string // the policy, as flags of the launcher; %D stands for the tree
	Want  Seen     // what the stage must see, with each failure as "denied"
}

// Seen is what the stage could do. Each field is "ok", or the name of an error.
type Seen struct {
	ReadSecret   string `json:"readSecret"`   // read a file below the denied directory
	ListSecret   string `json:"listSecret"`   // find that file's name
	ReadOutside  string `json:"readOutside"`  // read a file that no root holds
	WriteOutside string `json:"writeOutside"` // create a file where no root allows it
	WriteOwn     string `json:"writeOwn"`     // create a file in the writable directory
}

const (
	ok     = "ok"
	denied = "denied"
)

// Steps are what every backend is asked to do. The last two are separate
// because Landlock can do the first alone without touching the directories above.
var Steps = []Step{
	{"restricted writes", []string{"--restrict-writes", "--writable", "%D/own"}, Seen{ok, ok, ok, denied, ok}},
	{"denied tree", []string{"--restrict-writes", "--writable", "%D/own", "--deny", "%D/secret"}, Seen{denied, denied, ok, denied, ok}},
}

// Result is what came of one step.
type Result struct {
	Step   string `json:"step"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}

// errTimeout says that a step was killed.
var errTimeout = fmt.Errorf("nothing happened for %v", Limit)

// Run tries every step with one backend of the launcher at the given path. It
// fails where the host cannot even do the unconfined control.
func Run(launcher, backend string, flags ...string) ([]Result, error) {
	dir, err := os.MkdirTemp("", "letta-confine-probe-")
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	for _, sub := range []string{"own", "secret"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("probe: %w", err)
		}
	}
	for _, file := range []string{"secret/name", "outside"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte("x"), 0o600); err != nil {
			return nil, fmt.Errorf("probe: %w", err)
		}
	}
	control, err := see(dir, launcher, Word, dir)
	if err != nil {
		return nil, fmt.Errorf("probe: the unconfined control: %w", err)
	}
	if control != (Seen{ok, ok, ok, ok, ok}) {
		return nil, fmt.Errorf("probe: the unconfined control saw %+v", control)
	}
	var results []Result
	for _, step := range Steps {
		results = append(results, try(step, dir, launcher, backend, flags))
	}
	return results, nil
}

func try(step Step, dir, launcher, backend string, flags []string) Result {
	args := append([]string{"--backend", backend, "--require", "any", "--quiet"}, flags...)
	for _, f := range step.Flags {
		args = append(args, strings.ReplaceAll(f, "%D", dir))
	}
	args = append(args, "--", launcher, Word, dir)
	seen, err := see(dir, launcher, args...)
	switch {
	case err != nil:
		return Result{Step: step.Name, Reason: err.Error()}
	case seen.coarse() != step.Want:
		return Result{Step: step.Name, Reason: fmt.Sprintf("the confined stage saw %+v", seen)}
	}
	return Result{Step: step.Name, OK: true}
}

// coarse turns every error into "denied".
func (s Seen) coarse() Seen {
	for _, field := range []*string{&s.ReadSecret, &s.ListSecret, &s.ReadOutside, &s.WriteOutside, &s.WriteOwn} {
		if *field != ok {
			*field = denied
		}
	}
	return s
}

// see runs a program that ends in the stage, and returns what the stage saw.
func see(dir, program string, args ...string) (Seen, error) {
	for _, made := range []string{"own/new", "new"} {
		if err := os.Remove(filepath.Join(dir, made)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return Seen{}, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.WaitDelay = Limit
	ownGroup(cmd)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return Seen{}, errTimeout
	}
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimPrefix(stderr.String(), "letta-confine: error: "), "\n")
		return Seen{}, errors.New(strings.TrimPrefix(first, "no backend can confine this command: "))
	}
	var seen Seen
	if err := json.Unmarshal(out, &seen); err != nil {
		return Seen{}, fmt.Errorf("the stage's answer: %w", err)
	}
	return seen, nil
}

// Stage is the confined side: it tries everything, and prints what it saw.
func Stage(dir string) error {
	return json.NewEncoder(os.Stdout).Encode(Seen{
		ReadSecret:   outcome(read(filepath.Join(dir, "secret", "name"))),
		ListSecret:   outcome(find(filepath.Join(dir, "secret"), "name")),
		ReadOutside:  outcome(read(filepath.Join(dir, "outside"))),
		WriteOutside: outcome(os.WriteFile(filepath.Join(dir, "new"), nil, 0o600)),
		WriteOwn:     outcome(os.WriteFile(filepath.Join(dir, "own", "new"), nil, 0o600)),
	})
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
