//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/landlock"
)

// Every line of real runs is one that the schema describes, and together they have
// every member.
func TestAuditLinesMeetTheSchema(t *testing.T) {
	need(t, "bwrap")
	need(t, "landlock")
	a := answers(t, "audit")
	dir, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	long := strings.Repeat("x", maxArgv)
	runs := [][]string{
		{"--", "sh", "-c", "exit 7"},
		{"--profile", "workspace", "--isolation-root", filepath.Dir(dir), "--workspace", dir, "--", "true"},
		{"--exec", "--", "true"},
		{"--backend", "landlock", "--", "true"},
		{"--backend", "landlock", "--", "no-such-program"},
		{"--mode", "danger-full-access", "--", "true"},
		{"--chdir", "/nonexistent", "--", "true"},
		{"--", "true", long},
		{"--", "true", "\xff\n\x00"[:2]},
	}
	for _, args := range runs {
		run := exec.Command(launcher(t), append([]string{"--quiet", "--audit-log", log}, args...)...)
		run.Dir = dir
		run.Env = append(os.Environ(), "TMPDIR="+dir)
		if out, err := run.CombinedOutput(); err != nil && run.ProcessState.ExitCode() < 0 {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(text)))
	if len(lines) != len(runs) {
		t.Errorf("%d runs left %d lines:\n%s", len(runs), len(lines), text)
	}
	for _, line := range lines {
		a.takes(t, line)
	}
	a.shown(t)
	members(t, "audit", map[string]reflect.Type{"": reflect.TypeFor[auditLine]()})
	a.refuses(t,
		`{}`,
		`{"schema":1,"time":"2026-01-02T03:04:05Z","pid":1,"argv":[],"exit":0}`,
		`{"schema":1,"time":"2026-01-02T03:04:05Z","pid":1,"argv":[],"exit":0,"durationMs":1}`,
		`{"schema":1,"time":"2026-01-02T03:04:05+01:00","pid":1,"argv":[],"exit":"unobserved"}`,
		`{"schema":1,"time":"2026-01-02T03:04:05Z","pid":1,"argv":[],"exit":"unobserved","durationMs":1}`,
		`{"schema":1,"time":"2026-01-02T03:04:05Z","pid":1,"argv":[],"exit":"unobserved","env":{}}`,
	)
}

// What was asked for by name and cannot be had is an error, and no gap.
func TestAuditDenialsNeedsALog(t *testing.T) {
	for abi := range 9 {
		var rs landlock.Ruleset
		err := (&inputs{opts: &options{auditDenials: true}}).logs(&rs, abi)
		if able := abi >= 7; (err == nil) != able || rs.Log != able || !able && hintOf(err) == "" {
			t.Errorf("ABI %d: %v, log %v", abi, err, rs.Log)
		}
		if err := (&inputs{opts: &options{}}).logs(&rs, abi); err != nil || rs.Log {
			t.Errorf("ABI %d without the flag: %v, log %v", abi, err, rs.Log)
		}
	}
}
