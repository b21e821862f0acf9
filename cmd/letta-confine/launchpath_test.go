//go:build linux

package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
)

// initAllowed are the packages whose initialization the launch path may pay for,
// at each start of each command. One that joins them is a decision: measure it
// (make bench), then add it here. A regexp at package level costs 160 µs.
var initAllowed = []string{
	"context",
	"encoding/base64",
	"encoding/json",
	"errors",
	"golang.org/x/sys/unix",
	"internal/bytealg",
	"internal/godebug",
	"internal/poll",
	"internal/runtime/gc/scan",
	"io/fs",
	"iter",
	"math",
	"os",
	"os/signal",
	"path/filepath",
	"reflect",
	"runtime",
	"sync",
	"syscall",
	"time",
	"unicode",
}

var initLine = regexp.MustCompile(`(?m)^init (\S+) @`)

func TestLaunchPathPackages(t *testing.T) {
	need(t, "landlock")
	// The command gets no GODEBUG, or a Go command would add its own inits.
	run := exec.Command(launcher(t), "--backend", "landlock", "--restrict-writes", "--", "env", "-u", "GODEBUG", "true")
	run.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	run.Stderr = &trace
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &trace)
	}
	var seen []string
	for _, m := range initLine.FindAllStringSubmatch(trace.String(), -1) {
		seen = append(seen, m[1])
	}
	// The launcher's own init never ends: it is the launcher.
	if !slices.Contains(seen, "runtime") || !slices.Contains(seen, "golang.org/x/sys/unix") || slices.Contains(seen, "main") {
		t.Fatalf("the trace names not just the inits that come before the launcher:\n%s", &trace)
	}
	for _, name := range seen {
		if !slices.Contains(initAllowed, name) {
			t.Errorf("every start now runs the init of %s", name)
		}
	}
	for _, name := range initAllowed {
		if !slices.Contains(seen, name) {
			t.Logf("%s has no init any more: take it off the list", name)
		}
	}
}

// maxSize bounds the program, which is mapped and relocated at every start.
const maxSize = 4 << 20

// The shipped program is small, static and stripped, so that it runs in any
// container and depends on no loader that a command could replace.
func TestBinary(t *testing.T) {
	info, err := os.Stat(launcher(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() >= maxSize {
		t.Errorf("the program has %d bytes, want fewer than %d", info.Size(), maxSize)
	}
	file, err := elf.Open(launcher(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program has a segment %v: it is not static", p.Type)
		}
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 && p.Flags&elf.PF_X != 0 {
			t.Error("the program has a segment that is writable and executable")
		}
	}
	if symbols, err := file.Symbols(); err == nil && len(symbols) > 0 {
		t.Errorf("the program has %d symbols: it is not stripped", len(symbols))
	}
	text, err := os.ReadFile(launcher(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(dir)) {
		t.Errorf("the program names the folder it was built in, %q", dir)
	}
}
