package testenv

import (
	"errors"
	"fmt"
	"testing"
)

// recorder is a testing.TB that notes how a test would have ended.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper() {}
func (r *recorder) Skipf(format string, args ...any) {
	r.ended = "skip: " + fmt.Sprintf(format, args...)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.ended = "fail: " + fmt.Sprintf(format, args...)
}

func TestNeed(t *testing.T) {
	missing := errors.New("not there")
	for _, c := range []struct {
		name, require string
		err           error
		want          string
	}{
		{"a facility that is there changes nothing", "bwrap", nil, ""},
		{"a missing facility skips by name", "", missing, "skip: needs bwrap: not there"},
		{"a missing facility that is not required skips", "landlock,userns", missing, "skip: needs bwrap: not there"},
		{"a missing facility that is required fails", "landlock,bwrap", missing, "fail: CONFINE_REQUIRE names bwrap, which this host lacks: not there"},
		{"a name is not matched in part", "bwrapper", missing, "skip: needs bwrap: not there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CONFINE_REQUIRE", c.require)
			var r recorder
			Need(&r, "bwrap", c.err)
			if r.ended != c.want {
				t.Errorf("Need ended the test with %q, want %q", r.ended, c.want)
			}
		})
	}
}
