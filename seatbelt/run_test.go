//go:build linux || darwin

package seatbelt_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/seatbelt"
)

// fakeProgram writes a shell script that stands for sandbox-exec.
func fakeProgram(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sandbox-exec")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// apply does nothing to the command that it starts.
const apply = `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`

func TestTry(t *testing.T) {
	plan := seatbelt.Plan{Text: "(version 1)\n", Params: []seatbelt.Param{{Name: "R0", Value: "/a b"}}}
	for _, c := range []struct {
		name, script string
		argv         []string
		want         error
		text         string
	}{
		{"the command ran", apply, []string{"/bin/sh", "-c", "exit 0"}, nil, ""},
		{"the profile was refused", "echo 'sandbox-exec: bad' >&2; exit 65", nil, seatbelt.ErrProfile, "sandbox-exec refused the profile (exit status 65: bad)"},
		{"nested", "echo 'sandbox-exec: sandbox_apply: Operation not permitted' >&2; exit 71", nil, seatbelt.ErrApply, "sandbox_apply: Operation not permitted)"},
		{"the command said why it failed", apply, []string{"/bin/sh", "-c", "echo not in force; exit 125"}, nil, "not in force"},
		{"the command said nothing", apply, []string{"/bin/sh", "-c", "echo why >&2; exit 3"}, nil, "exit status 3: why"},
		{"the arguments", `[ "$1$2$3$4$5" = "-p(version 1)` + "\n" + `-DR0=/a b--/x" ] && exit 71; exit 1`, []string{"/x"}, seatbelt.ErrApply, ""},
	} {
		err := seatbelt.Try(fakeProgram(t, c.script), plan, c.argv, os.Environ())
		switch {
		case c.want == nil && c.text == "" && err != nil,
			(c.want != nil || c.text != "") && err == nil,
			c.want != nil && !errors.Is(err, c.want),
			err != nil && !strings.Contains(err.Error(), c.text):
			t.Errorf("%s: Try = %v, want %v with %q", c.name, err, c.want, c.text)
		}
	}
}

func TestAbsent(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "sandbox-exec")
	if err := seatbelt.Try(missing, seatbelt.Plan{}, []string{"true"}, nil); !errors.Is(err, seatbelt.ErrAbsent) {
		t.Errorf("Try = %v, want %v", err, seatbelt.ErrAbsent)
	}
	if err := seatbelt.Exec(missing, seatbelt.Plan{}, []string{"true"}, nil); !errors.Is(err, seatbelt.ErrAbsent) {
		t.Errorf("Exec = %v, want %v", err, seatbelt.ErrAbsent)
	}
}

func TestPromises(t *testing.T) {
	for _, c := range []struct {
		name       string
		p          policy.Policy
		privileged bool
		want       string
	}{
		{"nothing", policy.Policy{}, true, ""},
		{"read-only", policy.Policy{RestrictWrites: true}, true, "helpers"},
		{"denied", policy.Policy{Denied: []string{"/a"}}, false, "names helpers"},
		{"denied as root", policy.Policy{Denied: []string{"/a", "/b"}}, true, "names helpers deferred"},
		{"readonly root as root", policy.Policy{ReadOnly: []string{"/a"}}, true, "helpers deferred"},
	} {
		var got []string
		e := seatbelt.Promises(resolve(t, c.p, nil), c.privileged)
		for _, g := range e.Gaps {
			got = append(got, string(g))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: gaps %q, want %q", c.name, got, c.want)
		}
		if unmet := policy.RequireContents.Unmet(e); len(unmet) > 0 {
			t.Errorf("%s: --require contents refuses %q", c.name, unmet)
		}
	}
}
