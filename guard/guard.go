// Package guard answers for the file tools of an agent harness: may this tool,
// called like this, touch what it names? Such tools run in the harness's own
// process, which no kernel profile confines.
//
// The rule is policy's. A [Guard] holds policies, asks [policy.Resolved.Decide] of
// each about every path that a [Call] names or implies, and takes the strictest
// answer. A path is judged as it is written and as it leads, and each pass can only
// add a denial. What cannot be resolved is denied; what a tool unknown to the guard
// might write is asked.
//
// # Limits
//
// An answer is true at the moment of asking. Between it and the tool's own open a
// path can come to lead elsewhere; a caller that can work with a descriptor uses
// [Guard.OpenFile], where there is no such moment. A hard link gives a file a
// second path that no root names: the guard warns of one and cannot judge it. A
// search is taken to follow no link that it finds, as ripgrep follows none. Of a shell command it says nothing: its paths are for the kernel's profile.
package guard

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/profile"
	"github.com/letta-confine/letta-confine/verdict"
)

// Codes of the answers.
const (
	Inside       = "inside-policy"    // no policy forbids it
	NotJudged    = "left-to-kernel"   // a shell command
	Denied       = "policy-denied"    // neither read nor written
	ReadOnly     = "policy-read-only" // read and not written
	Beneath      = "policy-beneath"   // a search, or a move of the directory, would come to a root below
	OtherAgent   = "cross-agent"      // another agent's directory, or the tree of all
	Unresolvable = "unresolvable"     // nobody can say where the path leads
	KernelDenied = "kernel-eacces"    // the kernel does not let the guard look
	Unknown      = "unknown-tool"     // whether it writes is not known
)

// Objects reports whether code is that of an objection.
func Objects(code string) bool {
	switch code {
	case Denied, ReadOnly, Beneath, OtherAgent, Unresolvable, KernelDenied, Unknown:
		return true
	}
	return false
}

// Guard holds the policies that file tools have to keep to. The zero value, with FS
// set, has none.
type Guard struct {
	FS   policy.FS
	Home string // what ~ and $HOME mean in a call; with "" they are names like others

	layers []layer
}

// layer is one policy: as its roots lead, and as they are written.
type layer struct {
	real, lexical policy.Resolved
	agents        *profile.Profile // of the layer that keeps agents apart, or nil
}

// Add adds a policy, and what [policy.Resolve] made of it.
func (g *Guard) Add(p policy.Policy, r policy.Resolved) error {
	return g.add(p, r, nil)
}

// AddAgents adds the policy of [profile.FileTools]: its denials name agents.
func (g *Guard) AddAgents(p *profile.Profile) error {
	r, err := policy.Resolve(p.Policy, g.FS)
	if err != nil {
		return err
	}
	return g.add(p.Policy, r, p)
}

func (g *Guard) add(p policy.Policy, r policy.Resolved, agents *profile.Profile) error {
	lexical, err := policy.Resolve(p, linkless{})
	if err != nil {
		return err
	}
	g.layers = append(g.layers, layer{real: r, lexical: lexical, agents: agents})
	return nil
}

// linkless is a file system where every name is a directory: what resolving a path
// there gives is its text, cleaned.
type linkless struct{}

func (linkless) Lstat(string) (policy.Info, error) { return policy.Info{Kind: policy.Dir}, nil }
func (linkless) Readlink(string) (string, error)   { panic("guard: a link where there are none") }
func (linkless) Replaceable(string) bool           { return false }

// Judged is the answer about one path.
type Judged struct {
	verdict.Verdict
	Path     string   `json:"path"`     // as the call has it, or the directory that it implies
	Resolved string   `json:"resolved"` // canonical; empty where it cannot be resolved
	Write    bool     `json:"write"`
	Agents   []string `json:"agents,omitempty"` // other agents whose directories it touches
}

// Result is the answer about a call.
type Result struct {
	verdict.Verdict
	Paths    []Judged `json:"paths"`
	Warnings []string `json:"warnings,omitempty"`
}

// Judge answers for a call. The strictest answer about any of its paths is the
// answer.
func (g *Guard) Judge(c Call) Result {
	r := Result{Verdict: verdict.Verdict{Decision: verdict.Allow, Code: Inside, Reason: "no policy forbids it"}, Paths: []Judged{}}
	if KindOf(c.Tool) == Shell {
		r.Code, r.Reason = NotJudged, "the paths of a shell command are for the kernel's profile"
		return r
	}
	targets, err := c.targets(g.Home)
	if err != nil {
		r.Verdict = verdict.Verdict{Decision: verdict.Deny, Code: Unresolvable, Reason: err.Error()}
		return r
	}
	if len(targets) == 0 && KindOf(c.Tool) == Patcher {
		r.Verdict = verdict.Verdict{Decision: verdict.Ask, Code: Unknown, Reason: "the patch names no file in a form that is known"}
	}
	for _, t := range targets {
		j := g.judge(t)
		r.Verdict = r.Stricter(j.Verdict)
		r.Paths = append(r.Paths, j)
		if n := hardLinks(j.Resolved); j.Decision != verdict.Deny && n > 1 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%q has %d hard links: a policy knows it by this path only", t.given, n))
		}
	}
	return r
}

// judge unites the answers about each spelling and each way to read it.
func (g *Guard) judge(t target) Judged {
	j := Judged{
		Verdict: verdict.Verdict{Decision: verdict.Allow, Code: Inside, Reason: fmt.Sprintf("%q: no policy forbids it", t.given)},
		Path:    t.given, Write: t.access == policy.ReadWrite,
	}
	for _, spelling := range t.spellings {
		clean := path.Clean(spelling)
		for i := range g.layers {
			j.unite(g.layers[i].judge(t, clean, true))
		}
		// A program may clean the text before the kernel sees it, or not.
		for _, way := range slices.Compact([]string{clean, spelling}) {
			at, err := policy.Canonical(way, plain{g.FS})
			if err != nil {
				j.unite(unresolvable(t, err), nil)
				continue
			}
			j.Resolved = at
			for i := range g.layers {
				j.unite(g.layers[i].judge(t, at, false))
			}
		}
	}
	return j
}

func (j *Judged) unite(v verdict.Verdict, agents []string) {
	j.Verdict = j.Stricter(v)
	for _, id := range agents {
		if !slices.Contains(j.Agents, id) {
			j.Agents = append(j.Agents, id)
		}
	}
}

// judge asks one policy about one path. In the lexical pass only a root counts: a
// path that merely leads to where it may be used lies, as text, wherever it likes.
func (l *layer) judge(t target, at string, lexical bool) (verdict.Verdict, []string) {
	r := l.real
	if lexical {
		r = l.lexical
	}
	d := r.Decide(at)
	deny := func(code, what string, root string) verdict.Verdict {
		return verdict.Verdict{Decision: verdict.Deny, Code: code, Reason: fmt.Sprintf("policy: %q %s", t.given, what), Rule: root}
	}
	switch {
	case lexical && d.Root == nil:
	case d.Access == policy.None:
		if l.agents != nil {
			return l.otherAgent(t, agentOf(d.Root.Path, at))
		}
		return deny(Denied, fmt.Sprintf("is in denied root %q", d.Root.Given), d.Root.Given), nil
	case t.access == policy.ReadWrite && d.Access == policy.Read:
		what, rule := "is read-only: no root makes it writable", ""
		if d.Root != nil {
			what, rule = fmt.Sprintf("is in readonly root %q", d.Root.Given), d.Root.Given
		}
		if t.unknown {
			return verdict.Verdict{Decision: verdict.Ask, Code: Unknown, Reason: fmt.Sprintf("policy: %q %s, and whether this tool writes is not known", t.given, what), Rule: rule}, nil
		}
		return deny(ReadOnly, what, rule), nil
	}
	return l.beneath(t, at, r)
}

// beneath asks about what lies below a path, where the call reaches it: a search
// reads it, and to move or remove a directory takes along what is in it.
func (l *layer) beneath(t target, at string, r policy.Resolved) (verdict.Verdict, []string) {
	write := t.access == policy.ReadWrite
	for _, root := range r.Roots() {
		reached := root.Access() == policy.None && (t.recursive || write) || root.Access() == policy.Read && write
		if !reached || root.Path == at || !policy.Holds(at, root.Path) {
			continue
		}
		v := verdict.Verdict{
			Decision: verdict.Deny, Code: Beneath, Rule: root.Given,
			Reason: fmt.Sprintf("policy: %q lies above %s %q", t.given, root.List, root.Given),
		}
		switch {
		case t.unknown && !t.recursive:
			v.Decision, v.Code = verdict.Ask, Unknown
			v.Reason += ", and whether this tool reaches it is not known"
		case l.agents != nil:
			return l.otherAgent(t, unresolved)
		}
		return v, nil
	}
	return verdict.Verdict{Decision: verdict.Allow, Code: Inside}, nil
}

// unresolved stands for the agents of a path that is a tree or lies above one.
const unresolved = "<unresolved>"

// agentOf returns the agent whose directory in tree holds a path.
func agentOf(tree, at string) string {
	rest := strings.Trim(strings.TrimPrefix(at, tree), "/")
	if rest == "" {
		return unresolved
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}

func (l *layer) otherAgent(t target, id string) (verdict.Verdict, []string) {
	allowed := l.agents.Self
	if l.agents.Parent != "" && l.agents.Parent != l.agents.Self {
		allowed += ", " + l.agents.Parent
	}
	return verdict.Verdict{
		Decision: verdict.Deny, Code: OtherAgent, Rule: "cross-agent guard",
		Reason: fmt.Sprintf("cross-agent guard: %q belongs to %s; allowed: %s", t.given, id, allowed),
	}, []string{id}
}
