// Package profile builds the policies that have a name: cross-agent and
// memory-subagent, which keep the memories of an agent harness's agents apart, and
// workspace, which keeps tenants apart.
//
// A profile is made from flags and, for the two of the harness, from the variables
// with which letta-code describes an agent to its own children. Nothing is guessed:
// without an agent's name, or with one that could lead out of its directory, there
// is no policy, and so no run.
//
// Both trees of agents, the one of the API and the one of the local backend, are
// denied always, and what is the agent's own is carved out again. A path of the
// environment's that is a tree, lies above one or belongs to another agent is
// refused ([Error]).
//
// # Limits
//
// The environment and the flags are the caller's and are believed: who may name
// another agent's identity gets that agent's policy. What the host looks like is
// asked through [policy.FS] and can change; [policy.Resolve] checks the roots again,
// and refuses those that a symlink redirects.
package profile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
)

// The names of the profiles.
const (
	CrossAgent     = "cross-agent"
	MemorySubagent = "memory-subagent"
	Workspace      = "workspace"
)

// Names returns the names of all profiles.
func Names() []string { return []string{CrossAgent, MemorySubagent, Workspace} }

// MiniLetta is the layout of mini-letta: the agents are in $MINI_LETTA_HOME/agents,
// and what the harness keeps is beside them. Letta is letta-code's.
const (
	LettaLayout = "letta"
	MiniLetta   = "mini-letta"
)

// Layouts returns the names of the layouts.
func Layouts() []string { return []string{LettaLayout, MiniLetta} }

// Letta reports whether the named profile is one of letta-code's own, which its
// switch and its sentinel are about.
func Letta(name string) bool { return name == CrossAgent || name == MemorySubagent }

// Flags are what the command line says. An empty value is one that was not given.
type Flags struct {
	AgentID, ParentAgentID, MemoryDir, Home string

	Layout      string   // "" or one of Layouts: whose directories they are
	AgentsTrees []string // further trees that hold one directory for each agent

	Workspace, IsolationRoot string
}

// Source is where a profile learns of the agent and of the host.
type Source struct {
	Flags  Flags
	Getenv func(name string) string // "" for a variable that is not set
	Cwd    string                   // canonical; the workspace where none is given
	FS     policy.FS
}

// Profile is a policy with a name.
type Profile struct {
	Name   string
	Policy policy.Policy

	// Trees are the trees of agents that the policy denies.
	Trees []string

	// Self and Parent are the agents that it is about; "" where there is none.
	Self, Parent string

	// Memories are the directories that may be the agent's memory, the likeliest
	// first: temporary files go into the first that is there.
	Memories []string

	// Worktrees are the directories that git worktrees of a memory are made in.
	// They have to be there before the command starts where the memory beside
	// them is: a root that is not there is not granted.
	Worktrees []string
}

// Error says why a profile cannot be built.
type Error struct {
	Profile string
	What    string // the flag or variable, with its value
	Err     string
	Fix     string
}

func (e *Error) Error() string {
	if e.What == "" {
		return fmt.Sprintf("profile %s: %s", e.Profile, e.Err)
	}
	return fmt.Sprintf("profile %s: %s %s", e.Profile, e.What, e.Err)
}

// Hint returns what to change.
func (e *Error) Hint() string { return e.Fix }

// Build returns the named profile. It fails with an [*Error], or with the error of
// resolving one of the paths.
func Build(name string, s Source) (*Profile, error) {
	b := &builder{Source: s, p: Profile{Name: name}}
	var err error
	switch name {
	case CrossAgent:
		err = b.crossAgent()
	case MemorySubagent:
		err = b.memorySubagent()
	case Workspace:
		err = b.workspace()
	default:
		err = b.fail("", "there is none of that name", "the profiles are "+strings.Join(Names(), ", "))
	}
	if err == nil {
		err = b.checkCarveOuts()
	}
	if err != nil {
		return nil, err
	}
	return &b.p, nil
}

// given is a value and where it came from, for errors.
type given struct{ from, value string }

func (g given) String() string { return fmt.Sprintf("%s %q", g.from, g.value) }

// builder gathers one profile.
type builder struct {
	Source
	p Profile

	home, written string   // canonical, and as the caller wrote it
	harness       string   // where the harness keeps what is its own
	trees         []tree   // of agents
	self, parent  string   // agents
	denied        []string // canonical denied roots
}

// tree is a directory that holds one directory for each agent. Of a foreign one,
// which is another harness's, nothing is the agent's.
type tree struct {
	path, canonical string
	foreign         bool
}

func (b *builder) fail(what, text, fix string) error {
	return &Error{Profile: b.p.Name, What: what, Err: text, Fix: fix}
}

// first returns the flag's value, else that of the first variable that is not empty.
func (b *builder) first(flag, value string, names ...string) given {
	if value != "" {
		return given{flag, value}
	}
	for _, name := range names {
		if v := b.Getenv(name); v != "" {
			return given{name, v}
		}
	}
	return given{}
}

// deny adds a denied root.
func (b *builder) deny(path string) error {
	canonical, err := b.canonical(path)
	if err != nil {
		return err
	}
	b.denied = append(b.denied, canonical)
	b.p.Policy.Denied = append(b.p.Policy.Denied, path)
	return nil
}

func (b *builder) canonical(path string) (string, error) {
	canonical, err := policy.Canonical(path, b.FS)
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause // without the path, which is named here
		}
		return "", fmt.Errorf("profile %s: %q: %w", b.p.Name, path, err)
	}
	return canonical, nil
}

// checkCarveOuts refuses a carve-out that is a denied tree or lies above one. A
// carve-out above uncovers nothing, but whoever asks for it means something else,
// and at the same path one of the two would have to give way.
func (b *builder) checkCarveOuts() error {
	for _, list := range []policy.List{policy.ReadOnly, policy.Writable} {
		for _, path := range b.p.Policy.Roots(list) {
			canonical, err := b.canonical(path)
			if err != nil {
				return err
			}
			for _, root := range b.denied {
				if policy.Holds(canonical, root) {
					return b.fail("", fmt.Sprintf("the carve-out %q is the denied root %q or lies above it", path, root),
						"name a directory of the agent's or the workspace's own")
				}
			}
		}
	}
	return nil
}

// absolute checks a path that is the caller's, and spells it in the home directory's
// canonical spelling where it was written below the home directory as the caller
// spells that: the caller answers for that prefix, and a link in it is none that a
// command planted.
func (b *builder) absolute(g given) (string, error) {
	const fix = "write the whole path, starting with /, without . or .."
	p := g.value
	switch {
	case strings.IndexByte(p, 0) >= 0:
		return "", b.fail(g.String(), "holds a NUL byte", fix)
	case p[0] != '/':
		return "", b.fail(g.String(), "is not absolute", fix)
	}
	p, ok := clean(p)
	if !ok {
		return "", b.fail(g.String(), `holds a ".."`, fix)
	}
	if b.written != "" && policy.Holds(b.written, p) {
		p = join(b.home, strings.Trim(strings.TrimPrefix(p, b.written), "/"))
	}
	return p, nil
}

// clean takes away doubled and trailing slashes and single dots. It does not touch
// "..", which means nothing without the file system.
func clean(p string) (string, bool) {
	var parts []string
	for part := range strings.SplitSeq(p, "/") {
		switch part {
		case "", ".":
		case "..":
			return p, false
		default:
			parts = append(parts, part)
		}
	}
	return "/" + strings.Join(parts, "/"), true
}

func join(dir, name string) string {
	switch {
	case name == "":
		return dir
	case dir == "/":
		return "/" + name
	}
	return dir + "/" + name
}

func (b *builder) exists(path string) bool {
	info, err := b.FS.Lstat(path)
	return err == nil && info.Kind != policy.Missing
}
