//go:build linux && !launcher

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// What check judges by is what a run would enforce: the same flags give an equal
// policy.Resolved.
func TestCheckHasTheRunsPolicy(t *testing.T) {
	home := t.TempDir()
	work := filepath.Join(home, "work")
	file := filepath.Join(home, "policy.json")
	for _, dir := range []string{work, filepath.Join(home, "deny"), filepath.Join(home, ".letta", "agents", "a")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte(`{"deniedRoots": ["`+home+`/deny"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
	t.Setenv("HOME", home)
	t.Setenv("TMPDIR", "")
	for _, name := range []string{"AGENT_ID", "LETTA_AGENT_ID", "LETTA_FS_SANDBOX", "MEMORY_DIR", "LETTA_MEMORY_DIR"} {
		t.Setenv(name, "")
	}
	for _, flags := range [][]string{
		{},
		{"--restrict-writes"},
		{"--policy", file, "--restrict-writes", "--writable", work},
		{"--deny", home + "/deny", "--read-only", work, "--base-writable", "/var/tmp"},
		{"--mode", "read-only"},
		{"--preset", "workspace-write"},
		{"--workspace", work},
		{"--profile", "cross-agent", "--agent-id", "a"},
		{"--profile", "memory-subagent", "--agent-id", "a", "--parent-agent-id", "b"},
		{"--profile", "workspace", "--isolation-root", home, "--workspace", work},
		{"--protect", file, "--writable", work, "--restrict-writes"},
		{"--caches", "host", "--restrict-writes"},
	} {
		run, err := parseCommand(append(flags, "--", "true"))
		if err != nil {
			t.Fatal(err)
		}
		in, err := gather(run)
		if err != nil {
			t.Fatalf("%q: %v", flags, err)
		}
		var j judging
		o, err := parse(append(flags, "--", "path"), j.flags()...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.guard(o); err != nil {
			t.Fatalf("%q: %v", flags, err)
		}
		if j.in == nil || !reflect.DeepEqual(j.in.resolved, in.resolved) {
			t.Errorf("%q: check and run resolve different policies", flags)
		}
	}
}
