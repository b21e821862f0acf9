package policy

import (
	"fmt"
	"slices"
)

// Gap names something that a policy denies and a backend does not.
type Gap string

// The gaps. What each backend leaves open is computed for one policy on one
// host by its emitter; a gap that does not concern the policy is not listed.
const (
	GapMetadata    Gap = "metadata"         // mode, owner, times and xattrs of read-only files can be changed
	GapNames       Gap = "names"            // names below a denied root can be probed one by one
	GapUnixSockets Gap = "unix-sockets"     // a socket below a denied root can be connected to
	GapTruncate    Gap = "truncate"         // a read-only file can be cut short
	GapFIFO        Gap = "fifo"             // a fifo in a read-only place can be written to
	GapHelpers     Gap = "helpers"          // a service outside can be asked to do it
	GapDeferred    Gap = "deferred"         // a file that something unconfined runs later can be replaced
	GapTmp         Gap = "tmp"              // what was to be a directory of the command's own is the host's, beside one of its own
	GapSystemCalls Gap = "system-calls"     // no filter on them: input can be pushed into a shared terminal
	GapProcesses   Gap = "processes-shared" // what were to be processes of the command's own are the host's
	GapStale       Gap = "stale"            // of plan --exec-argv: what was replaced or mounted since the plan was made is not seen
	GapUnchecked   Gap = "unchecked"        // of the package confine: its mounts are not looked at before the command runs
)

// keepsContents reports whether, with g open, the command itself still reads no
// denied content and changes no protected content.
func (g Gap) keepsContents() bool { return g != GapTruncate && g != GapUnchecked }

// OverDenial is something that a policy allows and a backend refuses.
type OverDenial struct {
	Name string // as in "list", "extend", "devices"
	Path string // where; empty when it is everywhere
}

// String returns "name" or "name path".
func (o OverDenial) String() string {
	if o.Path == "" {
		return o.Name
	}
	return fmt.Sprintf("%s %q", o.Name, o.Path)
}

// Enforcement is what one backend does for one policy on one host.
type Enforcement struct {
	Gaps        []Gap
	OverDenials []OverDenial
	Limits      []string // what is weaker than on a newer host, without being a promise of the policy
}

// Level returns "full" when every promise of the policy is kept, else "partial".
func (e Enforcement) Level() string {
	if len(e.Gaps) == 0 {
		return "full"
	}
	return "partial"
}

// Require is the least enforcement that a caller accepts.
type Require string

// The requirements, from the strongest to the weakest.
const (
	RequireFull     Require = "full"     // every promise of the policy
	RequireContents Require = "contents" // gaps only where the command reads and changes no protected content
	RequireAny      Require = "any"      // whatever the backend gives, with its gaps reported
)

// Unmet returns the gaps of e that q does not accept.
func (q Require) Unmet(e Enforcement) []Gap {
	switch q {
	case RequireAny:
		return nil
	case RequireContents:
		return slices.DeleteFunc(slices.Clone(e.Gaps), Gap.keepsContents)
	}
	return e.Gaps
}
