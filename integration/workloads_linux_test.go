package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestWorkloads: the tools of a workspace work in it. Each runs twice, so that
// the second run meets the caches that the first one filled.
func TestWorkloads(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(tr *testenv.Tree)
		script  string
		makes   string // what must be there afterwards, relative to the tree
		cache   string // what the private cache starts with: that of the control, by its name
	}{
		{
			name: "git commit",
			script: `set -e
				git init -q -b main repo && cd repo
				git config user.name A && git config user.email a@example.com
				echo one > file && git add . && git commit -q -m one
				git checkout -q -b topic && echo two > file && git commit -q -a -m two && git checkout -q main && git merge -q topic
				git gc -q && git fsck --strict && git log --format=%s && rm -rf ../twice && git clone -q . ../twice`,
			makes: "work/repo/.git/refs",
		},
		{
			name: "go build",
			prepare: func(tr *testenv.Tree) {
				tr.Write("work/go.mod", "module example.com/hello\n\ngo 1.21\n")
				tr.Write("work/main.go", "package main\n\nfunc main() { println(\"hello\") }\n")
			},
			script: `set -e; GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local go build -o hello . && ./hello`,
			makes:  "work/hello",
			cache:  "go-build", // or each box would compile the Go runtime, ten seconds each
		},
		{
			name: "npm install",
			prepare: func(tr *testenv.Tree) {
				tr.Write("work/dep/package.json", `{"name": "dep", "version": "1.0.0", "main": "index.js", "bin": {"dep": "index.js"}}`)
				tr.WriteProgram("work/dep/index.js", "#!/usr/bin/env node\nmodule.exports = 'dep';\n")
				tr.Write("work/app/package.json", `{"name": "app", "version": "1.0.0", "dependencies": {"dep": "file:../dep"},
					"scripts": {"postinstall": "node -e \"console.log(require('dep'))\" > installed"}}`)
			},
			script: `set -e; cd app && npm install --offline --no-audit --no-fund --no-update-notifier --install-links && cat installed`,
			makes:  "work/app/node_modules/dep/index.js",
		},
		{
			name:   "python venv",
			script: `set -e; ` + python + ` -m venv --without-pip venv && venv/bin/python -c "import sys; assert sys.prefix != sys.base_prefix"`,
			makes:  "work/venv/bin/python",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var controls sync.Map // from user to its control: one control does for both backends
			outer := t
			each(t, func(t *testing.T, b box) {
				fresh := func(t *testing.T) *testenv.Tree {
					tr := testenv.NewTree(t, b.user)
					if c.prepare != nil {
						c.prepare(tr)
					}
					return tr
				}
				argv := []string{"sh", "-c", c.script}
				run, _ := controls.LoadOrStore(b.user, sync.OnceValues(func() (*testenv.Tree, error) {
					tr := fresh(outer)
					if res := b.free(outer, tr, argv...); res.Status != 0 {
						return nil, fmt.Errorf("unconfined it ends with %d: %s", res.Status, lastLine(res.Stderr))
					}
					return tr, nil
				}))
				control, err := run.(func() (*testenv.Tree, error))()
				testenv.Need(t, testenv.FacilityTools, err)
				tr := fresh(t)
				tr.Write("home/.cache/theirs", "another workspace's")
				if c.cache != "" {
					private := "home/.cache/letta-confine" + tr.Path("work") + "/@caches"
					tr.Mkdir(private)
					if res := b.free(t, tr, "cp", "-R", control.Path("home/.cache/"+c.cache), tr.Path(private)); res.Status != 0 {
						t.Fatalf("copying the control's cache gave %+v", res)
					}
				}
				before := listing(t, tr.Home())
				command := b.command(t, tr, append(workFlags(tr), "--caches", "private"), argv...)
				command.Env = []string{"TMPDIR=" + tr.Path("work/.tmp")}
				tr.Mkdir("work/.tmp")
				for range 2 {
					if res := command.Run(t); res.Status != 0 {
						t.Fatalf("it ends with %d: %s%s", res.Status, res.Stdout, res.Stderr)
					}
				}
				if !tr.Exists(c.makes) {
					t.Errorf("the host lacks %q", c.makes)
				}
				for _, path := range listing(t, tr.Home()) {
					if !strings.HasPrefix(path, "/.cache/letta-confine") && !slices.Contains(before, path) {
						t.Errorf("it left %q in the home directory", path)
					}
				}
			})
		})
	}
}

// TestPrivateCaches: a workspace cannot write another's caches, nor the user's.
func TestPrivateCaches(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.Write("home/.cache/go-build/theirs", "theirs")
		f := append(workFlags(tr), "--caches", "private")
		res := b.run(t, tr, f, "sh", "-c", `mkdir -p "$GOCACHE" && echo x > "$GOCACHE/../mine" && echo "$GOCACHE"; echo x > ~/.cache/go-build/theirs; echo x > ~/.cache/letta-confine/theirs`)
		cache := strings.TrimSpace(res.Stdout)
		if !strings.HasPrefix(cache, tr.Home()+"/.cache/letta-confine"+tr.Path("work")+"/") {
			t.Errorf("GOCACHE is %q (%+v), want it in the workspace's own folder", cache, res)
		}
		if got := tr.Read("home/.cache/go-build/theirs"); got != "theirs" || tr.Exists("home/.cache/letta-confine/theirs") {
			t.Errorf("the command wrote to caches that are not the workspace's: %q", got)
		}
	})
}

// listing returns the paths below a directory.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var paths []string
	var walk func(at string)
	walk = func(at string) {
		entries, err := os.ReadDir(dir + at)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			path := at + "/" + e.Name()
			paths = append(paths, path)
			if e.IsDir() && path != "/.cache/letta-confine" {
				walk(path)
			}
		}
	}
	walk("")
	return paths
}
