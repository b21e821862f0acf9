//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	Reason      string         `json:"reason,omitempty"`
	Hint        string         `json:"hint,omitempty"`
	Gaps        []string       `json:"gaps,omitempty"`
	OverDenials []string       `json:"overDenials,omitempty"`
	Program     string         `json:"program,omitempty"`
	ABI         int            `json:"abi,omitempty"`
	Steps       []probe.Result `json:"steps,omitempty"`
}

// Exit statuses of probe.
const (
	probeFull = iota
	probePartial
	probeUnusable
)

// probeHost prints what each backend can do here, after doing it.
func probeHost(args []string) (int, error) {
	o, err := parse(args)
	if err != nil {
		return 0, err
	}
	if len(o.args) > 0 {
		return 0, usageError(fmt.Sprintf("probe takes no argument, and was given %q", o.args[0]))
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
	var list []probed
	for _, m := range mechanisms {
		list = append(list, m.probe(self, o))
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
	if o.json {
		return status, printJSON(map[string]any{"schema": schemaVersion, "kernel": kernel(), "uid": os.Geteuid(), "backends": list})
	}
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
	results, err := probe.Run(self, m.name, flags...)
	if err != nil {
		return p.unusable("probe-failed", err)
	}
	p.Steps = results
	for _, r := range results {
		if !r.OK {
			return p.unusable(failureCode(m.name, r.Reason), errors.New(r.Step+": "+r.Reason))
		}
	}
	return p.promises(m, o)
}

// promises fills in what the backend leaves open for a policy that both denies
// and restricts, as the memory of other agents and the rest of the disk are.
func (p probed) promises(m mechanism, o *options) probed {
	dir, err := os.MkdirTemp("", "letta-confine-probe-")
	if err != nil {
		return p.unusable("probe-failed", err)
	}
	defer os.RemoveAll(dir)
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
	return p
}

func (p probed) unusable(code string, err error) probed {
	p.Code, p.Reason, p.Hint = code, err.Error(), hintOf(err)
	return p
}

func failureCode(name, reason string) string {
	if strings.HasPrefix(reason, "nothing happened") {
		return name + "-timeout"
	}
	return name + "-failed"
}

func (p probed) text(attempts bool) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: ", p.Backend)
	if !p.Usable {
		fmt.Fprintf(&s, "unusable (%s): %s", p.Code, p.Reason)
		if p.Hint != "" {
			fmt.Fprintf(&s, "\n  hint: %s", p.Hint)
		}
		return s.String()
	}
	fmt.Fprintf(&s, "usable, enforcement %s", p.Enforcement)
	if p.Program != "" {
		fmt.Fprintf(&s, "\n  program: %s", p.Program)
	}
	if p.ABI > 0 {
		fmt.Fprintf(&s, "\n  abi: %d", p.ABI)
	}
	for _, g := range p.Gaps {
		fmt.Fprintf(&s, "\n  gap: %s", g)
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
