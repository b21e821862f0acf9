package main

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/probe"
)

// What is known before a backend is tried has its code, and a hint that holds the
// command or the setting. Those of a bubblewrap that failed are in probe.Facts.
func TestProbeHints(t *testing.T) {
	for _, c := range []struct{ code, fix, got, hint string }{
		{"bwrap-missing", "apt-get install bubblewrap", bwrapCode(bwrap.ErrMissing), hintOf(bwrapError(bwrap.ErrMissing))},
		{"bwrap-untrusted", "chown root", bwrapCode(bwrap.ErrUntrusted), hintOf(bwrapError(bwrap.ErrUntrusted))},
		{"landlock-enosys", "CONFIG_SECURITY_LANDLOCK=y", landlockCode(unix.ENOSYS), hintOf(landlockError(unix.ENOSYS))},
		{"landlock-enosys", "seccomp", landlockCode(unix.ENOSYS), hintOf(landlockError(unix.ENOSYS))},
		{"landlock-disabled-at-boot", "lsm=", landlockCode(unix.EOPNOTSUPP), hintOf(landlockError(unix.EOPNOTSUPP))},
		{"landlock-blocked-by-seccomp", "--security-opt seccomp=", landlockCode(unix.EPERM), hintOf(landlockError(unix.EPERM))},
		{"bwrap-timeout", "--probe-timeout", probed{}.late(mechanism{name: "bwrap"}, probe.ErrTimeout).Code, probed{}.late(mechanism{name: "bwrap"}, probe.ErrTimeout).Hint},
	} {
		if c.got != c.code || !strings.Contains(c.hint, c.fix) {
			t.Errorf("%s: the code %q with the hint %q, want %q in it", c.code, c.got, c.hint, c.fix)
		}
	}
	if code := landlockCode(errors.New("another")); code != "landlock-failed" {
		t.Errorf("another error has the code %q", code)
	}
}

// The usage names the limit of a step that is the default.
func TestProbeTimeoutDefault(t *testing.T) {
	o, err := parse(nil)
	if err != nil || o.probeTimeout.String() != "5s" || !strings.Contains(probeUsage, "--probe-timeout "+o.probeTimeout.String()+" ") {
		t.Errorf("a step may take %v (%v), and the usage says\n%s", o.probeTimeout, err, probeUsage)
	}
}
