//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/letta-confine/letta-confine/landlock"
)

// The tests of this package run the program as it is shipped, and not the test
// binary under another name: the launcher starts its inner stage as
// /proc/self/fd/N, from which testscript.Main cannot tell which command is meant,
// and the test binary has other inits, another size and a writable place.

func TestMain(m *testing.M) {
	status := m.Run()
	if dir, err := built(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// lean returns what the Makefile links into the launcher besides.
func lean() (string, error) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		return "", err
	}
	_, rest, ok := strings.Cut(string(text), "\nLEAN = ")
	if !ok {
		return "", errors.New("the Makefile has no LEAN")
	}
	flags, _, _ := strings.Cut(rest, "\n")
	return flags, nil
}

// built builds the program and its companion once, and returns the directory that
// holds them.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "letta-confine-bin-")
	if err != nil {
		return "", err
	}
	// Where a test runs the program as another user, that user must reach it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return dir, err
	}
	lean, err := lean()
	if err != nil {
		return dir, err
	}
	for program, tags := range map[string]string{"letta-confine": "launcher", "letta-confine-check": ""} {
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", "-s -w "+lean, "-o", filepath.Join(dir, program), ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		if out, err := build.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	return dir, nil
})

// launcher returns the path of the built program.
func launcher(t testing.TB) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "letta-confine")
}

// facilities are what a test may need of the host. None of them asks the
// program under test, which would then skip its own failures.
var facilities = map[string]func() error{
	"bwrap": sync.OnceValue(func() error {
		if out, err := exec.Command("/usr/bin/bwrap", "--ro-bind", "/", "/", "true").CombinedOutput(); err != nil {
			return fmt.Errorf("bwrap: %w: %s", err, out)
		}
		return nil
	}),
	"bash":    program("bash"),
	"fish":    program("fish"),
	"zsh":     program("zsh"),
	"mandoc":  onPath("mandoc"),
	"git":     program("git"),
	"node":    program("node"),
	"python3": program("python3"),
	"landlock": sync.OnceValue(func() error {
		abi, err := landlock.ABI()
		if err == nil && abi < 3 {
			err = fmt.Errorf("its ABI is %d, and restricted writes need 3", abi)
		}
		return err
	}),
	"root": func() error {
		if os.Geteuid() != 0 {
			return errors.New("not started as root")
		}
		return nil
	},
}

// program says whether a program can be found, and run.
func program(name string) func() error {
	return sync.OnceValue(func() error { return exec.Command(name, "--version").Run() })
}

// onPath is program for one that knows no --version.
func onPath(name string) func() error {
	return sync.OnceValue(func() error { _, err := exec.LookPath(name); return err })
}

// required reports whether CONFINE_REQUIRE names the facility: then a host that
// lacks it fails the test instead of skipping it.
func required(facility string) bool {
	return slices.Contains(strings.Split(os.Getenv("CONFINE_REQUIRE"), ","), facility)
}

// need ends the test where the host lacks the facility.
func need(t testing.TB, facility string) {
	t.Helper()
	switch err := facilities[facility](); {
	case err == nil:
	case required(facility):
		t.Fatalf("CONFINE_REQUIRE names %s, which this host lacks: %v", facility, err)
	default:
		t.Skipf("needs %s: %v", facility, err)
	}
}
