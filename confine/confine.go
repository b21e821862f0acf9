// Package confine starts the commands of a Go program confined, without a launcher
// between them: the calling process itself is never restricted.
//
//	confine.CloseOnExec() // once
//	sandbox := confine.Sandbox{Policy: p}
//	report, err := sandbox.Start(cmd)
//	if err != nil {
//		return err // nothing has run
//	}
//	err = cmd.Wait()
//
// Start locks a goroutine to an operating system thread, puts that thread into a
// Landlock domain, takes capabilities and system calls from it, starts the command
// from it, and lets it end. What the thread starts inherits all of that; no other
// thread does, because the Go runtime makes threads for a locked one from another
// (runtime.LockOSThread). Any number of goroutines may call Start at a time.
//
// The policy means what it means to the launcher: the same code resolves it and
// makes the rules. The command keeps what [exec.Cmd] gives it: the environment, and
// the descriptors in Stdin, Stdout, Stderr and ExtraFiles.
//
// # Limits
//
// StartBubblewrap gives bubblewrap's masks by arguments alone. The launcher makes mount
// points besides, looks at the masks from inside before the command runs, and adds a
// Landlock layer; what is lost without is in the report.
//
// Nothing is created: a missing writable root is skipped. No environment variable
// is set, removed or read. The program that calls Start is not protected: a command
// that may write its file can change it for the next run. A process that a command
// starts by asking the caller is the caller's.
//
// While Start runs, one thread has other credentials than the rest: a program
// without cgo that calls syscall.Setuid and the like at the same moment is ended by
// the Go runtime.
package confine

import (
	"errors"

	"github.com/letta-confine/letta-confine/policy"
)

// Sandbox is what a command is confined to.
type Sandbox struct {
	Policy policy.Policy

	// Require is the least enforcement that is accepted; empty, it is
	// policy.RequireContents.
	Require policy.Require

	// MaxSiblings bounds the rules that stand for what lies beside roots; 0 is
	// landlock.DefaultMaxSiblings.
	MaxSiblings int
}

// Report says what confines a command that was started.
type Report struct {
	Backend     string // "landlock" or "bwrap"
	ABI         int    // of Landlock; 0 with bubblewrap
	Enforcement policy.Enforcement
	Skipped     []policy.Root // missing: nothing was there to grant
}

// Errors of Start. None of them is the command's: nothing has run.
var (
	ErrUnrestricted = errors.New("the policy restricts nothing")
	ErrUnmet        = errors.New("the enforcement is less than what is required")
	ErrAttributes   = errors.New("SysProcAttr asks for what a confined command cannot have")
	ErrDescriptor   = errors.New("the command would inherit a descriptor that reaches around the policy")
	ErrMissingRoot  = errors.New("a denied or readonly root is not there, and nothing would make it")
	ErrDirectory    = errors.New("the working directory is inside a denied root")
)
