//go:build linux && !launcher

package main

import (
	"errors"
	"testing"
)

// Whatever goes wrong in a hook is a denial: harnesses pass over other statuses.
func TestHookFailsClosed(t *testing.T) {
	for name, f := range map[string]func() (int, error){
		"error": func() (int, error) { return 0, errors.New("a reason\nin two lines") },
		"panic": func() (int, error) { panic("a reason") },
		"nil":   func() (int, error) { var in *inputs; return len(in.cwd), nil },
	} {
		if got := failClosed(f); got != 2 {
			t.Errorf("%s: status %d, want 2", name, got)
		}
	}
	if got := failClosed(func() (int, error) { return 1, nil }); got != 1 {
		t.Errorf("an answer with status 1 became %d", got)
	}
	if got := run([]string{"check", "hook", "--no-such-flag"}); got != 2 {
		t.Errorf("a flag that does not exist: status %d, want 2", got)
	}
}
