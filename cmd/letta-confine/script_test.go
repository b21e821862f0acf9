//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScript runs testdata/script. Beside testscript's own commands a script has
//
//	status N program argument...   run it, and check its exit status; a shell's
//	                               128+n is a program that signal n ended
//	snapshot                       remember what is in $WORK
//	unchanged                      check that nothing there was made, changed or removed
//
// and the conditions [bwrap], [landlock] and [root], which are errors where
// CONFINE_REQUIRE names them and the host lacks them.
func TestScript(t *testing.T) {
	bin := filepath.Dir(launcher(t))
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Condition:          condition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+":/usr/local/bin:/usr/bin:/bin")
			env.Setenv("BIN", bin)
			env.Values[treeKey{}] = new(tree)
			// A program that another script starts meanwhile may have inherited one of
			// the files that were just written, which keeps that from being executed
			// (ETXTBSY) until its own exec. Then the lock is free.
			syscall.ForkLock.Lock()
			defer syscall.ForkLock.Unlock()
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status, "snapshot": snapshot, "unchanged": unchanged,
		},
	})
}

func condition(name string) (bool, error) {
	probe, ok := facilities[name]
	if !ok {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	err := probe()
	if err != nil && required(name) {
		return false, fmt.Errorf("CONFINE_REQUIRE names %s, which this host lacks: %w", name, err)
	}
	return err == nil, nil
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program argument...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, err := exitStatusOf(ts.Exec(args[1], args[2:]...))
	ts.Check(err)
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// exitStatusOf translates what running a program gave as a shell would.
func exitStatusOf(err error) (int, error) {
	if err == nil {
		return 0, nil
	}
	ended, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0, err
	}
	if ws := ended.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return ended.ExitCode(), nil
}

// tree is what snapshot remembers of each path: mode, size, time and content.
type tree map[string]string

func treeOf(dir string) (tree, error) {
	t := make(tree)
	return t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		}
		t[path] = fmt.Sprintf("%v %v %q", info.Mode(), info.ModTime(), text)
		return nil
	})
}

// treeKey finds a script's snapshot.
type treeKey struct{}

func snapshot(ts *testscript.TestScript, _ bool, _ []string) {
	now, err := treeOf(ts.Getenv("WORK"))
	ts.Check(err)
	*ts.Value(treeKey{}).(*tree) = now
}

func unchanged(ts *testscript.TestScript, _ bool, _ []string) {
	before := *ts.Value(treeKey{}).(*tree)
	if before == nil {
		ts.Fatalf("unchanged without a snapshot before it")
	}
	now, err := treeOf(ts.Getenv("WORK"))
	ts.Check(err)
	for path, was := range before {
		if now[path] != was {
			ts.Fatalf("%s was %s and is %q", path, was, now[path])
		}
	}
	for path := range now {
		if _, ok := before[path]; !ok {
			ts.Fatalf("%s was made", path)
		}
	}
}
