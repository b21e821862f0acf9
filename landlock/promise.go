package landlock

import (
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/letta-confine/letta-confine/policy"
)

// report lists what the ruleset leaves open, and what it takes too much.
func (e *emitter) report() {
	out := &e.out.Enforcement
	denied := e.missesRead(e.layers)
	readOnly := e.r.Default() == policy.Read
	for _, l := range e.layers {
		readOnly = readOnly || l.Access == policy.Read
	}
	if denied || readOnly {
		out.Gaps = append(out.Gaps, policy.GapMetadata)
	}
	if denied {
		out.Gaps = append(out.Gaps, policy.GapNames)
		if e.out.Handled&ll.AccessFSResolveUnix == 0 {
			out.Gaps = append(out.Gaps, policy.GapUnixSockets)
		}
	}
	if e.out.Handled&ll.AccessFSTruncate == 0 && (denied || readOnly) {
		out.Gaps = append(out.Gaps, policy.GapTruncate)
	}
	if e.h.Privileged && e.r.Default() == policy.ReadWrite {
		out.Gaps = append(out.Gaps, policy.GapDeferred)
	}
	// Nothing stays beside the command to give a terminal back as it was, and
	// its own /dev/pts is the host's.
	out.Limits = append(out.Limits, "terminal")
	if e.out.Handled&ll.AccessFSRefer == 0 {
		out.OverDenials = append(out.OverDenials, policy.OverDenial{Name: "refer"})
	}
	if e.out.Handled&ll.AccessFSIoctlDev == 0 {
		out.Limits = append(out.Limits, "ioctl-dev")
	}
	if e.r.Default() == policy.ReadWrite {
		out.OverDenials = append(out.OverDenials, policy.OverDenial{Name: "devices", Path: "/dev"},
			policy.OverDenial{Name: "kernel-files", Path: "/proc"}, policy.OverDenial{Name: "kernel-files", Path: "/sys"})
	} else if denied {
		out.OverDenials = append(out.OverDenials, policy.OverDenial{Name: "devices", Path: "/dev"})
	}
}
