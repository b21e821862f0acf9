//go:build linux || darwin

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/letta-confine/letta-confine/probe"
	"github.com/letta-confine/letta-confine/profile"
)

// held is what a backend makes of one policy.
type held struct {
	Policy      string   `json:"policy"`      // "given", or the name of a profile or mode
	Enforcement string   `json:"enforcement"` // full, partial, unusable; none where the policy restricts nothing
	Gaps        []string `json:"gaps,omitempty"`
	OverDenials []string `json:"overDenials,omitempty"`
	Refused     string   `json:"refused,omitempty"` // why a run with these flags would not take this backend
}

// asked is a policy that probe answers for.
type asked struct {
	name string

	// collect makes it for a run with a --backend, on which some defaults depend.
	collect func(backend string) (*inputs, error)
}

// given is the name of the policy that the flags state.
const given = "given"

// probedPolicies returns the policy of the flags, or where they state none every
// profile and mode that confines, for an agent and a tenant that are made up where
// the environment names none. done removes what that needed.
func (o *options) probedPolicies() (list []asked, done func(), err error) {
	if o.statesPolicy() {
		in, err := collect(o)
		once := func(string) (*inputs, error) { return in, nil } // it may come from a pipe
		return []asked{{given, once}}, func() {}, err
	}
	dir, done, err := probe.Scratch([]string{"tenant"}, nil)
	if err != nil {
		return nil, nil, err
	}
	tenant := filepath.Join(dir, "tenant")
	for _, name := range append(profile.Names(), readOnly, workspaceWrite) {
		stock := *o
		stock.chdir = ""
		switch {
		case profile.Letta(name):
			stock.profile = name
			if o.who.AgentID == "" && os.Getenv("AGENT_ID") == "" && os.Getenv("LETTA_AGENT_ID") == "" {
				stock.who.AgentID = "probe"
			}
		case name == profile.Workspace:
			stock.profile = name
			stock.who.IsolationRoot, stock.who.Workspace = dir, tenant
		default:
			stock.mode = name
			if name == workspaceWrite {
				stock.who.Workspace = tenant
			}
		}
		list = append(list, asked{name, func(backend string) (*inputs, error) {
			one := stock
			one.backend = backend
			return collect(&one)
		}})
	}
	return list, done, nil
}

// answers fills in what a usable backend makes of the policies. Where one was given,
// the backend is as good as it is for that one.
func (p *probed) answers(m mechanism, o *options, policies []asked) {
	for _, a := range policies {
		h, err := a.held(m.name, m)
		if err == nil && (o.backend == "auto" || o.backend == m.name) {
			// What keeps a run from it may come with the default of --backend.
			if refused, _ := a.held(o.backend, m); refused.Refused != "" {
				h.Refused = refused.Refused
			}
		}
		p.Policies = append(p.Policies, h)
		if a.name != given {
			continue
		}
		p.Usable = h.Enforcement == "full" || h.Enforcement == "partial"
		p.Enforcement, p.Gaps, p.OverDenials = h.Enforcement, h.Gaps, h.OverDenials
		if !p.Usable {
			p.Code, p.Reason, p.Hint = "policy-refused", h.Refused, hintOf(err)
			if err == nil {
				p.Hint = "ask about a policy that restricts something, as with --mode workspace-write"
			}
		}
	}
}

// held says what m makes of the policy, for a run with that --backend.
func (a asked) held(backend string, m mechanism) (held, error) {
	h := held{Policy: a.name, Enforcement: "unusable"}
	in, err := a.collect(backend)
	if err != nil {
		h.Refused = err.Error()
		return h, err
	}
	if in.reason != "" || !in.resolved.Restricts() {
		h.Enforcement, h.Refused = "none", in.reason
		if h.Refused == "" {
			h.Refused = "the policy restricts nothing"
		}
		return h, nil
	}
	b := m.ready(in)
	if b.err != nil {
		h.Refused = b.err.Error()
		return h, b.err
	}
	e := planEvent(&b)
	h.Enforcement, h.Gaps, h.OverDenials = e.Enforcement, e.Gaps, e.OverDenials
	if err := in.accept(b); err != nil {
		h.Refused = err.Error()
	}
	return h, nil
}

// text says it to a person: what is over-denied by number only, or one by one.
func (h held) text(long bool) string {
	var s strings.Builder
	fmt.Fprintf(&s, "\n  policy %s: %s", h.Policy, h.Enforcement)
	if len(h.Gaps) > 0 {
		s.WriteString(", gaps " + strings.Join(h.Gaps, " "))
	}
	if n := len(h.OverDenials); n > 0 {
		fmt.Fprintf(&s, ", over-denials %d", n)
	}
	if h.Refused != "" {
		s.WriteString("\n    not taken: " + h.Refused)
	}
	for _, over := range h.OverDenials {
		if long {
			s.WriteString("\n    over-denial: " + over)
		}
	}
	return s.String()
}
