package seatbelt

import "github.com/letta-confine/letta-confine/policy"

// Promises returns what the profile of r leaves open and what it refuses beyond
// r. Privileged is whether the command runs as root.
//
// The gap helpers is closed by [Plan.DenyHelpers]. The gap names stands for the
// ways to ask for a name that Seatbelt has no rule for.
func Promises(r policy.Resolved, privileged bool) policy.Enforcement {
	var e policy.Enforcement
	if !r.Restricts() {
		return e
	}
	for _, l := range r.Layers() {
		if l.Access == policy.None {
			e.Gaps = append(e.Gaps, policy.GapNames)
			break
		}
	}
	e.Gaps = append(e.Gaps, policy.GapHelpers)
	if privileged && r.Default() == policy.ReadWrite {
		e.Gaps = append(e.Gaps, policy.GapDeferred)
	}
	for _, name := range []string{"mounts", "disk-devices", "setuid-programs", "nested-sandboxes"} {
		e.OverDenials = append(e.OverDenials, policy.OverDenial{Name: name})
	}
	for _, l := range r.Layers() {
		e.OverDenials = append(e.OverDenials, policy.OverDenial{Name: "pinned", Path: l.Root.Path})
	}
	return e
}
