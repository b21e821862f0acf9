//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/probe"
)

// probed is what probe says of one backend.
type probed struct {
	Backend     string         `json:"backend"`
	Usable      bool           `json:"usable"`
	Enforcement string         `json:"enforcement"` // full, partial or unusable, for a policy of both kinds
	Code        string         `json:"code,omitempty"`
	Cause       string         `json:"cause,omitempty"` // of bwrap-userns-denied
	Reason      string         `json:"reason,omitempty"`
	Hint        string         `json:"hint,omitempty"`
	Gaps        []string       `json:"gaps,omitempty"`
	OverDenials []string       `json:"overDenials,omitempty"`
	Policies    []held         `json:"policies,omitempty"`
	Program     string         `json:"program,omitempty"`
	ABI         int            `json:"abi,omitempty"`
	Steps       []probe.Result `json:"steps,omitempty"`
}

// probeAnswer is probe --json.
type probeAnswer struct {
	Schema int `json:"schema"`
	probe.Host
	Backends []probed `json:"backends"`
}

// Exit statuses of probe beside probeUnusable.
const (
	probeFull    = 0
	probePartial = 1
)

// probeHost prints what each backend can do here, after doing it.
func probeHost(args []string) (int, error) {
	o, err := parse(args)
	if err != nil {
		return 0, err
	}
	if len(o.args) > 0 {
		return 0, probeArgument(o.args[0])
	}
	self, err := os.Executable()
	if err != nil { // no /proc
		if self, err = exec.LookPath(os.Args[0]); err == nil {
			self, err = filepath.Abs(self)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("probe: the launcher's own path: %w", err)
	}
	policies, done, err := o.probedPolicies()
	if err != nil {
		return 0, err
	}
	defer done()
	var list []probed
	for _, m := range mechanisms {
		p := m.probe(self, o)
		if p.Usable {
			p.answers(m, o, policies)
		}
		list = append(list, p)
	}
	status := probeUnusable
	for _, p := range list {
		switch {
		case p.Usable && p.Enforcement == "full":
			status = probeFull
		case p.Usable:
			status = min(status, probePartial)
		}
	}
	here := probe.Host{System: runtime.GOOS, Kernel: kernel(), UID: os.Geteuid()}
	if runtime.GOOS == "linux" {
		here.Learn(probe.ThisHost(), os.Getenv)
	}
	if o.json {
		return status, printJSON(probeAnswer{schemaVersion, here, list})
	}
	fmt.Println(strings.Join(here.Lines(), "\n"))
	for _, p := range list {
		fmt.Println(p.text(o.selfTest))
	}
	return status, nil
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// probe looks for a mechanism, then has it confine the probing stage.
func (m mechanism) probe(self string, o *options) probed {
	p := probed{Backend: m.name, Enforcement: "unusable"}
	flags, code, err := m.find(&p, o)
	if err != nil {
		return p.unusable(code, err)
	}
	results, err := probe.Run(self, m.name, o.probeTimeout, flags...)
	if errors.Is(err, probe.ErrTimeout) {
		return p.late(m, err)
	}
	if err != nil {
		return p.unusable("probe-failed", err)
	}
	for i := range results {
		results[i].Hint = strings.TrimSuffix(results[i].Hint, probeHint)
	}
	p.Steps = results
	for _, r := range results {
		if !r.OK {
			return p.failed(m, self, o, r)
		}
	}
	return p.promises(m, o)
}

// promises fills in what the backend leaves open for a policy that both denies
// and restricts, as the memory of other agents and the rest of the disk are.
func (p probed) promises(m mechanism, o *options) probed {
	dir, remove, err := probe.Scratch(nil, nil)
	if err != nil {
		return p.unusable("probe-failed", err)
	}
	defer remove()
	in := &inputs{opts: o, cwd: dir}
	in.policy.RestrictWrites = true
	in.policy.Denied = []string{dir}
	if err := in.resolve(); err != nil {
		return p.unusable("probe-failed", err)
	}
	made := m.ready(in)
	if made.err != nil {
		return p.unusable("probe-failed", made.err)
	}
	e := planEvent(&made)
	p.Usable, p.Enforcement, p.Gaps, p.OverDenials = true, e.Enforcement, e.Gaps, e.OverDenials
	if hint := newerKernel(p.Gaps); m.name == "landlock" && hint != "" {
		p.Code, p.Hint = fmt.Sprintf("landlock-abi-%d", p.ABI), hint
	}
	return p
}

// newerKernel says what a newer Landlock would close, or "".
func newerKernel(gaps []string) string {
	var closed []string
	for _, g := range [][2]string{{"truncate", "from Linux 6.2 (ABI 3)"}, {"unix-sockets", "from ABI 9"}} {
		if slices.Contains(gaps, g[0]) {
			closed = append(closed, g[0]+" "+g[1])
		}
	}
	if closed == nil {
		return ""
	}
	return "a newer kernel closes gaps: " + strings.Join(closed, ", ")
}

func (p probed) unusable(code string, err error) probed {
	p.Code, p.Reason, p.Hint = code, err.Error(), hintOf(err)
	return p
}

// failed tells why a step did not end as it should.
func (p probed) failed(m mechanism, self string, o *options, r probe.Result) probed {
	if errors.Is(r.Err, probe.ErrTimeout) {
		return p.late(m, errors.New(r.Step+": "+r.Reason))
	}
	code, hint := m.name+"-failed", r.Hint
	if w := m.why(p, self, o, r); w.Code != "" {
		code, hint, p.Cause = w.Code, w.Hint, w.Cause
	}
	if hint == "" && m.name == "bwrap" && r.Err != nil {
		hint = fmt.Sprintf("see what it says by itself: %q --ro-bind / / --dev /dev true", p.Program)
	}
	p = p.unusable(code, errors.New(r.Step+": "+r.Reason))
	p.Hint = hint
	return p
}

func (p probed) late(m mechanism, err error) probed {
	return p.unusable(m.name+"-timeout", withHint(err, "pass --probe-timeout with more time, if this host is only slow"))
}

func (p probed) text(attempts bool) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: ", p.Backend)
	if !p.Usable {
		code := p.Code
		if p.Cause != "" {
			code += ", " + p.Cause
		}
		fmt.Fprintf(&s, "unusable (%s): %s", code, p.Reason)
		if p.Hint != "" {
			fmt.Fprintf(&s, "\n  hint: %s", p.Hint)
		}
		return s.String()
	}
	fmt.Fprintf(&s, "usable, enforcement %s", p.Enforcement)
	if p.Code != "" {
		fmt.Fprintf(&s, " (%s)", p.Code)
	}
	if p.Hint != "" {
		fmt.Fprintf(&s, "\n  hint: %s", p.Hint)
	}
	if p.Program != "" {
		fmt.Fprintf(&s, "\n  program: %q", p.Program)
	}
	if p.ABI > 0 {
		fmt.Fprintf(&s, "\n  abi: %d", p.ABI)
	}
	for _, g := range p.Gaps {
		fmt.Fprintf(&s, "\n  gap: %s", g)
	}
	for _, h := range p.Policies {
		s.WriteString(h.text(attempts))
	}
	for _, r := range p.Steps {
		fmt.Fprintf(&s, "\n  shown: %s", r.Step)
		if !attempts {
			continue
		}
		for _, name := range probe.Attempts() {
			fmt.Fprintf(&s, "\n    %s: %s", name, r.Seen[name])
		}
	}
	return s.String()
}
