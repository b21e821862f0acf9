//go:build linux && !launcher

package main

import (
	"testing"

	"github.com/letta-confine/letta-confine/approval"
	"github.com/letta-confine/letta-confine/sessionlog"
)

// The tables of docs/permissions.md.
func TestPrecedence(t *testing.T) {
	in := func(mode, policy string) sessionlog.State { return sessionlog.State{Mode: mode, Policy: policy} }
	for _, c := range []struct {
		name    string
		args    []string
		session sessionlog.State
		env     string
		mode    string // "error" for one
		when    string
	}{
		{"nothing is said", nil, in("", ""), "", workspaceWrite, ask},
		{"the variable does not count by itself", nil, in("", ""), danger, workspaceWrite, ask},
		{"a default counts", []string{"--default-mode", readOnly}, in("", ""), danger, readOnly, ask},
		{"the variable goes before a default", []string{"--mode", "env", "--default-mode", workspaceWrite}, in("", ""), readOnly, readOnly, ask},
		{"a default counts where there is no variable", []string{"--mode", "env", "--default-mode", readOnly}, in("", ""), "", readOnly, ask},
		{"the session goes before the variable", []string{"--mode", "env"}, in(readOnly, ""), danger, readOnly, ask},
		{"the session goes before a default", []string{"--default-mode", danger}, in(readOnly, ""), "", readOnly, ask},
		{"a mode goes before the session", []string{"--mode", workspaceWrite}, in(readOnly, ""), "", workspaceWrite, ask},
		{"a mode goes before a wider session", []string{"--mode", readOnly}, in(danger, ""), danger, readOnly, ask},
		{"a preset goes before the session", []string{"--preset", readOnly}, in(danger, never), "", readOnly, ask},
		{"a preset goes before the variable", []string{"--mode", "env", "--preset", readOnly}, in("", ""), danger, readOnly, ask},
		{"a preset and its own mode", []string{"--preset", readOnly, "--mode", readOnly}, in("", ""), "", readOnly, ask},
		{"a preset and another mode", []string{"--preset", readOnly, "--mode", danger}, in("", ""), "", "error", ""},
		{"roots and no mode", []string{"--deny", "/nowhere"}, in("", ""), danger, "", ask},
		{"roots, and a variable that says nothing", []string{"--mode", "env", "--deny", "/nowhere"}, in("", ""), "", workspaceWrite, ask},
		{"roots and the workspace", []string{"--deny", "/nowhere", "--workspace", "/usr/bin"}, in("", ""), "", workspaceWrite, ask},
		{"a profile and no mode", []string{"--profile", "cross-agent"}, in("", ""), danger, "", ask},
		{"a profile and the workspace", []string{"--profile", "cross-agent", "--workspace", "/usr/bin"}, in("", ""), "", workspaceWrite, ask},
		{"the workspace's own profile", []string{"--profile", "workspace", "--workspace", "/usr/bin"}, in("", ""), "", "", ask},
		{"roots, and a session's mode", []string{"--deny", "/nowhere"}, in(readOnly, ""), "", readOnly, ask},

		{"the session says never", nil, in("", never), "", workspaceWrite, never},
		{"the session says ask", nil, in(danger, ask), "", danger, ask},
		{"the session is in danger and says nothing", nil, in(danger, ""), "", danger, ask},
		{"the variable says danger", []string{"--mode", "env"}, in("", ""), danger, danger, never},
		{"the variable says danger, and the session ask", []string{"--mode", "env"}, in("", ask), danger, danger, ask},
		{"a mode of danger", []string{"--mode", danger}, in("", ""), "", danger, never},
		{"a preset of danger", []string{"--preset", danger}, in("", ask), "", danger, never},
		{"a preset of danger, and ask", []string{"--preset", danger, "--approval", ask}, in("", ""), "", danger, never},
		{"ask, and a preset of danger", []string{"--approval", ask, "--preset", danger}, in("", ""), "", danger, never},
		{"a flag says ask", []string{"--approval", ask}, in("", never), "", workspaceWrite, ask},
		{"a flag says never", []string{"--approval", never}, in("", ask), "", workspaceWrite, never},
		{"a flag says never, and then ask", []string{"--approval", never, "--approval", ask}, in("", ask), "", workspaceWrite, never},
		{"a flag says ask, and then never", []string{"--approval", ask, "--approval", never}, in("", ask), "", workspaceWrite, never},
		{"a preset, and never", []string{"--preset", readOnly, "--approval", never}, in("", ask), "", readOnly, never},
		{"never, and a preset", []string{"--approval", never, "--preset", readOnly}, in("", ask), "", readOnly, never},
	} {
		o, err := parse(c.args)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		r := &inputs{opts: o, session: c.session, env: []string{"DSH_PERMISSION_MODE=" + c.env}, cwd: "/usr"}
		err = r.modes(&r.policy)
		mode, when := r.mode, r.approval()
		if err != nil {
			mode, when = "error", ""
		}
		if mode != c.mode || when != c.when {
			t.Errorf("%s: mode %q, approval %q, %v; want %q, %q", c.name, mode, when, err, c.mode, c.when)
		}
	}
}

// Every outcome has a status of approve, a text of a run that was not allowed, and a
// place in the session log; and both know the same modes.
func TestOutcomes(t *testing.T) {
	seen, texts := map[int]bool{}, map[string]bool{}
	for _, o := range approval.Outcomes() {
		status, ok := approveStatus[o]
		if !ok || seen[status] || (status == 0) != (o == approval.AllowedOnce) {
			t.Errorf("approve gives %s the status %d", o, status)
		}
		seen[status] = true
		if _, err := (sessionlog.Event{Event: sessionlog.ApprovalDecided, ID: "a", Outcome: string(o)}).Line(); err != nil {
			t.Errorf("the log does not take %s: %v", o, err)
		}
		if text := refusal("widening", o, nil).Error(); texts[text] {
			t.Errorf("%s is said as another is: %s", o, text)
		} else if o != approval.AllowedOnce {
			texts[text] = true
		}
	}
	for _, p := range presetList {
		for _, e := range changes(sessionlog.State{}, p) {
			if _, err := e.Line(); err != nil {
				t.Errorf("the log does not take %+v: %v", e, err)
			}
		}
	}
}

func TestPresetOf(t *testing.T) {
	for _, c := range []struct{ mode, approval, chosen, want string }{
		{readOnly, ask, "", readOnly},
		{workspaceWrite, ask, "", workspaceWrite},
		{danger, never, "", danger},
		{readOnly, ask, workspaceWrite, readOnly}, // what was chosen is not in force any more
		{readOnly, never, readOnly, custom},
		{danger, ask, danger, custom},
		{workspaceWrite, never, "", custom},
	} {
		if got := presetOf(c.mode, c.approval, c.chosen); got.Name != c.want || got.Mode != c.mode || got.Approval != c.approval {
			t.Errorf("presetOf(%s, %s, %q) = %+v, want %s", c.mode, c.approval, c.chosen, got, c.want)
		}
	}
}
