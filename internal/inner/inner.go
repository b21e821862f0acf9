// Package inner is the stage of the launcher that runs inside a bubblewrap
// sandbox, before the command and in its place.
//
// Bubblewrap starts it through a descriptor of the launcher's own program, so no
// path to it is needed inside. It checks that every root is what the policy
// meant, takes the last capabilities away, tells the supervisor outside what it
// found, waits for its go-ahead, and executes the command. Until then nothing of
// the command has run; that is what keeps the exit statuses 125, 126 and 127
// apart, for which bubblewrap itself has only 1.
//
// Where the launcher only printed how to start bubblewrap (plan --exec-argv), the
// stage is started by its path and the plan is a word of its command line
// ([Plan.Words]); then nobody outside watches, and it does not look at the host.
//
// # Limits
//
// The stage can only give up rights, and acts on nothing but what its command line
// holds or names: a command that starts it again gains nothing.
package inner

import "github.com/letta-confine/letta-confine/policy"

// Word is the first argument that makes the program this stage. It is followed
// by the numbers of two descriptors: the plan and the control socket; or by the plan
// itself, "-" and the command.
const Word = "inner-stage"

// Reopen is a regular file behind a standard descriptor.
type Reopen struct {
	FD    int
	Path  string
	Flags int // as fcntl(2), F_GETFL gives them
	ID    policy.ID
}
