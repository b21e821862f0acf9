//go:build linux || darwin

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSeatbeltPrivateTmp: the command gets a folder of its own, which the profile
// grants, and the report says that it stays and that the host's is to be seen.
func TestSeatbeltPrivateTmp(t *testing.T) {
	m := newMac(t, apply)
	tmp, report := filepath.Join(m.dir, "secret"), filepath.Join(m.dir, "report")
	m.env = []string{"TMPDIR=" + tmp}
	got := m.run(t, slices.Concat(writes, []string{"--tmp", "private", "--report", report, "--", "sh", "-c", "echo $TMPDIR"})...)
	dir := strings.TrimSpace(got.stdout)
	if got.status != 0 || got.stderr != "" || !strings.HasPrefix(dir, tmp+"/letta-confine-") {
		t.Fatalf("the run gave %+v, want a folder in %q", got, tmp)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info, err)
	}
	for _, args := range m.starts(t) {
		words := strings.Join(args, "\n")
		if !strings.Contains(words, "="+dir+"\n") || strings.Contains(words, "="+defaultTemp+"\n") {
			t.Errorf("sandbox-exec was started with %q, want the folder and not %q", args, defaultTemp)
		}
	}
	text, err := os.ReadFile(report)
	if err != nil || !strings.Contains(string(text), `"tmp"`) || !strings.Contains(string(text), `"created":["`+dir+`"]`) {
		t.Errorf("the report is %s, %v", text, err)
	}
}
