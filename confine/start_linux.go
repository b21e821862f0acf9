package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// Start starts a command confined, as cmd.Start would; Wait, Process and what else
// belongs to cmd are then as usual. On an error nothing has run, and cmd is spent.
//
// It refuses attributes that the sandbox would break or that would break it: of
// SysProcAttr those of sessions, groups, terminals and Credential may be set.
// Pdeathsig may not: the thread that it watches ends with Start. A descriptor of the
// process that is not closed at exec is refused as well; see CloseOnExec.
func (s Sandbox) Start(cmd *exec.Cmd) (Report, error) {
	type result struct {
		report Report
		err    error
	}
	done := make(chan result, 1)
	go onThread(func() {
		report, err := s.start(cmd)
		done <- result{report, err}
	})
	r := <-done
	return r.report, r.err
}

// CloseOnExec marks every descriptor of the process above 2 to be closed at exec, as
// those that Go opens are. A program calls it when it begins: what it inherits
// its commands would inherit, and a descriptor reads through any policy.
func CloseOnExec() error { return launch.CloseOnExec(nil) }

// onThread calls f on a thread that ends after it: a goroutine that ends while it is
// locked takes its thread along. The first thread of the process cannot end, and
// stands for the process in /proc: while this goroutine holds it, another gets a
// thread that is not the first.
func onThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		onThread(f)
	}()
	<-done
	runtime.UnlockOSThread()
}

// start is Start, on a thread to spend. Up to Restrict nothing is changed.
func (s Sandbox) start(cmd *exec.Cmd) (Report, error) {
	if cmd.Err != nil {
		return Report{}, cmd.Err // before a restricted search would say something else
	}
	resolved, aliases, err := resolve(s.Policy)
	if err != nil {
		return Report{}, err
	}
	outputs, err := check(cmd, resolved, false)
	if err != nil {
		return Report{}, err
	}
	rules, err := s.rules(resolved)
	if err != nil {
		return Report{}, err
	}
	report := Report{"landlock", rules.ABI, rules.Enforcement, rules.Skipped}
	if err := s.accept(&report, aliases); err != nil {
		return Report{}, err
	}
	if err := rules.Restrict(outputs...); err != nil {
		return Report{}, fmt.Errorf("landlock: %w", err)
	}
	if err := harden.Apply(harden.Options{}); err != nil {
		return Report{}, err
	}
	return report, cmd.Start()
}

// accept completes a report by what this build and this host lack, and holds it to
// what is required.
func (s Sandbox) accept(report *Report, aliases bool) error {
	if !aliases {
		report.Enforcement.Limits = append(report.Enforcement.Limits, "aliases")
	}
	if !harden.HasFilter {
		report.Enforcement.Gaps = append(report.Enforcement.Gaps, policy.GapSystemCalls)
	}
	require := s.Require
	if require == "" {
		require = policy.RequireContents
	}
	if unmet := require.Unmet(report.Enforcement); len(unmet) > 0 {
		return fmt.Errorf("%w: %s leaves %v open, and %s does not accept that", ErrUnmet, report.Backend, unmet, require)
	}
	return nil
}

// resolve resolves the policy, with the other places at which its roots can be seen.
// It reports whether those could be learned: not without /proc.
func resolve(p policy.Policy) (r policy.Resolved, aliases bool, err error) {
	var own policy.Policy // the caller's lists stay as they are
	own.Merge(p)
	if r, err = policy.Resolve(own, hostfs.FS{}); err != nil {
		return r, false, err
	}
	if !r.Restricts() {
		return r, false, ErrUnrestricted
	}
	text, err := os.ReadFile("/proc/thread-self/mountinfo")
	if errors.Is(err, unix.ENOENT) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("mounts: %w", err)
	}
	mounts, err := hostfs.ParseMounts(string(text))
	if err != nil {
		return r, false, fmt.Errorf("mounts: %w", err)
	}
	held, err := harden.Permitted()
	if err != nil {
		return r, false, err
	}
	added, err := hostfs.AddAliases(&own, r, mounts, harden.OwnsKernelFiles(held))
	if err == nil && len(added) > 0 {
		r, err = policy.Resolve(own, hostfs.FS{})
	}
	return r, true, err
}

// rules are Landlock's for a policy on this host.
func (s Sandbox) rules(r policy.Resolved) (landlock.Ruleset, error) {
	abi, err := landlock.ABI()
	if err != nil {
		return landlock.Ruleset{}, fmt.Errorf("landlock: %w", err)
	}
	held, err := harden.Permitted()
	if err != nil {
		return landlock.Ruleset{}, err
	}
	siblings := s.MaxSiblings
	if siblings == 0 {
		siblings = landlock.DefaultMaxSiblings
	}
	rules, err := landlock.New(r, landlock.Host{ABI: abi, List: landlock.List, Privileged: harden.OwnsKernelFiles(held), MaxSiblings: siblings})
	if err != nil {
		return rules, fmt.Errorf("landlock: %w", err)
	}
	return rules, nil
}
