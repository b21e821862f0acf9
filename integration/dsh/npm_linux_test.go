package dsh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// install installs DSH's packages, of just the versions in testdata/npm, and runs no
// script of theirs.
func install(t *testing.T) (dir string, err error) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", err
		}
	}
	dir = outside(t, testenv.Root)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS("testdata/npm")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund",
		"--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")
	npm.WaitDelay = time.Second
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w: %s", err, lastLine(string(out)))
	}
	return dir, exec.Command("chmod", "-R", "a+rX", dir).Run()
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// answered is what DSH makes of a command.
type answered struct {
	ExitCode       int
	Stdout, Stderr string
	Denied         bool
	Enforcement    string
	Code, Message  string // of an error; then nothing ran
}

// request is what bash.mjs takes.
type request struct {
	Sandbox       sandboxConfig `json:"sandbox"`
	Mode          string        `json:"mode"`
	WorkspaceRoot string        `json:"workspaceRoot"`
	Workdir       string        `json:"workdir"`
	Command       string        `json:"command"`
	Landlock      bool          `json:"landlock"`
}

type sandboxConfig struct {
	RunnerCommand           []string `json:"runnerCommand,omitempty"`
	RunnerFailureSignatures []string `json:"runnerFailureSignatures,omitempty"`
}

// TestPackages: DSH's own packages, with the launcher as the runner that its
// configuration names, and in the place of the Landlock launcher that it brings.
func TestPackages(t *testing.T) {
	dir, err := install(t)
	testenv.Need(t, testenv.FacilityNPM, err)
	t.Run("landlock-run", func(t *testing.T) {
		theirs := landlockRunOf(dir)
		t.Run("theirs", func(t *testing.T) {
			if _, err := os.Stat(theirs); err != nil {
				t.Skipf("they have none for %s", runtime.GOARCH)
			}
			// The cases are what the original does.
			testenv.NeedBackend(t, "landlock", testenv.Plain)
			landlockRunCases(t, testenv.Plain, theirs)
		})
		replace(t, theirs)
		eachUser(t, func(t *testing.T, u testenv.User) {
			inDSH(t, dir, u, "permission denied", request{Landlock: true})
		})
	})
	t.Run("runnerCommand", func(t *testing.T) {
		eachBox(t, func(t *testing.T, b box) {
			inDSH(t, dir, b.User, strings.ToLower(b.denied()), request{Sandbox: sandboxConfig{
				RunnerCommand:           []string{testenv.Launcher(t), "bwrap-argv", "--backend", b.backend},
				RunnerFailureSignatures: []string{"letta-confine: error: "},
			}})
		})
	})
}

// landlockRunOf is where the packages look for their launcher.
func landlockRunOf(dir string) string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return filepath.Join(dir, "node_modules/@deepseek-ai/node-addon-landlock-run-linux-"+arch, "bin/landlock-run")
}

// replace puts a link to the launcher into the place of theirs.
func replace(t *testing.T, theirs string) {
	t.Helper()
	err := os.Remove(theirs)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = os.Symlink(testenv.Launcher(t), theirs)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// inDSH checks what DSH makes of a write inside, of one outside, and of a root that
// is missing.
func inDSH(t *testing.T, dir string, u testenv.User, dialect string, r request) {
	t.Helper()
	tr, outside := testenv.NewTree(t, u), outside(t, u)
	run := func(r request) (a answered) {
		t.Helper()
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		node, err := exec.LookPath("node")
		if err != nil {
			t.Fatal(err)
		}
		res := testenv.Command{
			User: u, Dir: dir, Home: tr.Home(), Env: []string{"TMPDIR=" + tr.Path("tmp")},
			Argv: []string{node, "bash.mjs", string(text)},
		}.Run(t)
		if err := json.Unmarshal([]byte(res.Stdout), &a); err != nil || res.Status != 0 {
			t.Fatalf("bash.mjs gave %+v", res)
		}
		return a
	}
	r.Mode, r.WorkspaceRoot, r.Workdir = "workspace-write", tr.Path("work"), tr.Path("work")

	r.Command = "echo inside > new && cat new"
	if a := run(r); a != (answered{Stdout: "inside\n", Enforcement: "full"}) || tr.Read("work/new") != "inside\n" {
		t.Errorf("writing inside: DSH has %+v", a)
	}
	file := filepath.Join(outside, "new")
	r.Command = "echo outside > " + file
	if a := run(r); a.ExitCode == 0 || !a.Denied || !strings.Contains(strings.ToLower(a.Stderr), dialect) || tr.Exists(file) {
		t.Errorf("writing outside: DSH has %+v, want it denied, with %q", a, dialect)
	}
	r.Mode, r.Command = "read-only", "echo inside > again"
	if a := run(r); a.ExitCode == 0 || !a.Denied || tr.Exists("work/again") {
		t.Errorf("writing in the mode read-only: DSH has %+v, want it denied", a)
	}
	r.Command = "cat new; exit 125"
	if a := run(r); a != (answered{ExitCode: 125, Stdout: "inside\n", Enforcement: "full"}) {
		t.Errorf("a command that ends with 125: DSH has %+v", a)
	}
	r.Mode, r.WorkspaceRoot, r.Command = "workspace-write", tr.Path("missing"), "touch "+tr.Path("work/ran")
	if a := run(r); a.Code != "SANDBOX_UNAVAILABLE" || !strings.Contains(a.Message, tr.Path("missing")) || tr.Exists("work/ran") {
		t.Errorf("a missing root: DSH has %+v, want a failure of the runner", a)
	}

	r.Mode, r.WorkspaceRoot, r.Command = "danger-full-access", tr.Path("work"), "echo outside > "+file
	if a := run(r); a.ExitCode != 0 || !tr.Exists(file) {
		t.Errorf("control: unconfined DSH has %+v", a)
	}
}
