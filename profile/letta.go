package profile

import (
	"fmt"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
)

const (
	memoryName    = "memory"
	worktreesName = "memory-worktrees"
)

// crossAgent is the shell of an agent: everything is free but the other agents.
func (b *builder) crossAgent() error {
	if err := b.identify(); err != nil {
		return err
	}
	for _, t := range b.own() {
		b.carve(policy.Writable, join(t.path, b.self))
	}
	b.parentMemory()
	memory, err := b.memory()
	if err == nil && memory.dir != "" && memory.tree == nil {
		// Outside the trees it is as free as the rest. Roots of its own keep it so
		// under a policy that is added to this one.
		for _, path := range memory.writable {
			b.carve(policy.Writable, path)
		}
	}
	b.p.Worktrees = nil // they are writable already, and made when they are needed
	return err
}

// FileTools returns the policy of the tools with which an agent reads and writes
// files in the harness's own process: no kernel confines those. It is cross-agent,
// but a subagent works on all that is its parent's, as letta-code has it.
func FileTools(s Source) (*Profile, error) {
	b := &builder{Source: s, p: Profile{Name: "file-tools"}}
	if err := b.identify(); err != nil {
		return nil, err
	}
	for _, t := range b.own() {
		b.carve(policy.Writable, join(t.path, b.self))
		if b.parent != "" {
			b.carve(policy.Writable, join(t.path, b.parent))
		}
	}
	if err := b.checkCarveOuts(); err != nil {
		return nil, err
	}
	return &b.p, nil
}

// memorySubagent is a process that works on an agent's memory: it writes that, and
// what the harness itself keeps in its own directory.
func (b *builder) memorySubagent() error {
	if err := b.identify(); err != nil {
		return err
	}
	p := &b.p.Policy
	p.RestrictWrites = true
	p.BaseWritable = []string{b.harness}
	relocated := []string{"LETTA_LOCAL_BACKEND_DIR", "LETTA_TRANSCRIPT_ROOT"}
	if b.Flags.Layout == MiniLetta {
		relocated = []string{miniHome}
	}
	for _, name := range relocated {
		g := b.first("", "", name)
		if g.value == "" {
			continue
		}
		dir, err := b.absolute(g)
		if err != nil {
			return err
		}
		canonical, err := b.canonical(dir)
		if err != nil {
			return err
		}
		if policy.Holds(canonical, b.home) {
			return b.fail(g.String(), "holds the home directory, and all of it would be writable", "give it a directory of its own")
		}
		if !policy.Holds(b.harness, dir) {
			p.BaseWritable = append(p.BaseWritable, dir)
		}
	}
	// The harness obeys these without a sandbox of its own around it.
	for _, name := range []string{"settings.json", "mods"} {
		if path := join(b.harness, name); b.exists(path) {
			b.carve(policy.ReadOnly, path)
		}
	}
	for _, t := range b.own() {
		b.carve(policy.ReadOnly, join(t.path, b.self))
	}
	b.parentMemory()
	memory, err := b.memory()
	if err != nil {
		return err
	}
	if memory.dir != "" {
		b.p.Memories = []string{memory.dir}
		for _, path := range memory.writable {
			b.carve(policy.Writable, path)
		}
		return nil
	}
	for _, t := range b.own() {
		b.p.Memories = append(b.p.Memories, join(t.path, b.self)+"/"+memoryName)
		for _, path := range b.memoryOf(join(t.path, b.self)) {
			b.carve(policy.Writable, path)
		}
	}
	return nil
}

// carve adds a carve-out once.
func (b *builder) carve(l policy.List, path string) {
	for _, have := range b.p.Policy.Roots(l) {
		if have == path {
			return
		}
	}
	if l == policy.Writable {
		b.p.Policy.Writable = append(b.p.Policy.Writable, path)
	} else {
		b.p.Policy.ReadOnly = append(b.p.Policy.ReadOnly, path)
	}
}

// memoryOf returns what is written of the memory in the directory of an agent, and
// notes where its worktrees go.
func (b *builder) memoryOf(dir string) []string {
	worktrees := join(dir, worktreesName)
	b.p.Worktrees = append(b.p.Worktrees, worktrees)
	return []string{join(dir, memoryName), worktrees}
}

// parentMemory lets the command read the memory of the parent agent.
func (b *builder) parentMemory() {
	if b.parent == "" || b.parent == b.self {
		return
	}
	for _, t := range b.own() {
		b.carve(policy.ReadOnly, join(t.path, b.parent)+"/"+memoryName)
	}
}

// identify finds the home directory, the trees and the agents, and denies the
// trees.
func (b *builder) identify() error {
	if err := b.findHome(); err != nil {
		return err
	}
	b.harness = join(b.home, ".letta")
	backend := join(b.harness, "lc-local-backend")
	if g := b.first("", "", "LETTA_LOCAL_BACKEND_DIR"); g.value != "" {
		dir, err := b.absolute(g)
		if err != nil {
			return err
		}
		backend = dir
	}
	paths := []string{join(b.harness, "agents"), join(backend, "memfs")}
	foreign := 0
	if b.Flags.Layout == MiniLetta {
		g := b.first("", "", miniHome)
		if g.value == "" {
			return b.fail("", "there is no home of mini-letta's", "set "+miniHome)
		}
		dir, err := b.absolute(g)
		if err != nil {
			return err
		}
		b.harness, foreign = dir, len(paths)
		paths = append(paths, join(dir, "agents"))
	}
	for _, value := range b.Flags.AgentsTrees {
		path, err := b.absolute(given{"--agents-tree", value})
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	for i, path := range paths {
		if err := b.deny(path); err != nil {
			return err
		}
		b.trees = append(b.trees, tree{path, b.denied[len(b.denied)-1], i < foreign && path != paths[foreign]})
		b.p.Trees = append(b.p.Trees, path)
	}
	return b.findAgents()
}

// miniHome names the directory of mini-letta's.
const miniHome = "MINI_LETTA_HOME"

// own returns the trees in which the agent has a directory.
func (b *builder) own() (list []tree) {
	for _, t := range b.trees {
		if !t.foreign {
			list = append(list, t)
		}
	}
	return list
}

func (b *builder) findHome() error {
	g := b.first("--home", b.Flags.Home, "HOME")
	if g.value == "" {
		return b.fail("", "there is no home directory", "set HOME or pass --home DIR")
	}
	dir, err := b.absolute(g)
	if err != nil {
		return err
	}
	b.written = dir
	b.home, err = b.canonical(dir)
	return err
}

// findAgents reads the identities. A name of the form P~role is a role of agent P,
// and acts on P's memory.
func (b *builder) findAgents() error {
	g := b.first("--agent-id", b.Flags.AgentID, "AGENT_ID", "LETTA_AGENT_ID")
	if g.value == "" {
		return b.fail("", "there is no agent id", "set AGENT_ID or pass --agent-id ID")
	}
	var err error
	if b.self, err = b.agent(g); err != nil {
		return err
	}
	g = b.first("--parent-agent-id", b.Flags.ParentAgentID)
	if g.value == "" && b.Getenv("LETTA_CODE_AGENT_ROLE") == "subagent" {
		g = b.first("", "", "LETTA_PARENT_AGENT_ID")
	}
	if g.value != "" {
		b.parent, err = b.agent(g)
	}
	b.p.Self, b.p.Parent = b.self, b.parent
	return err
}

// agent checks an identity: it becomes a component of paths.
func (b *builder) agent(g given) (string, error) {
	id, _, _ := strings.Cut(g.value, "~")
	switch {
	case id == "":
		return "", b.fail(g.String(), "names no agent", "give the agent's own id")
	case strings.ContainsAny(id, "/\x00"):
		return "", b.fail(g.String(), "holds a slash or a NUL byte", "give the agent's own id")
	case id == "." || id == "..":
		return "", b.fail(g.String(), "is no name of a directory's own", "give the agent's own id")
	}
	return id, nil
}

// memory is a memory that the caller named.
type memory struct {
	dir      string // "" where none was named
	tree     *tree  // that holds it, or nil
	agent    string // whose directory in tree it is
	writable []string
}

// memory classifies MEMORY_DIR, both as written and as it leads. In a tree it must
// belong to the agent or to its parent.
func (b *builder) memory() (memory, error) {
	g := b.first("--memory-dir", b.Flags.MemoryDir, "MEMORY_DIR", "LETTA_MEMORY_DIR")
	if g.value == "" {
		return memory{}, nil
	}
	dir, err := b.absolute(g)
	if err != nil {
		return memory{}, err
	}
	canonical, err := b.canonical(dir)
	if err != nil {
		return memory{}, err
	}
	m := memory{dir: dir}
	base := parent(dir)
	for i := range b.trees {
		t := &b.trees[i]
		switch {
		case policy.Holds(dir, t.path) || policy.Holds(canonical, t.canonical):
			return memory{}, b.fail(g.String(), fmt.Sprintf("is the agents tree %q or lies above it", t.path), "name the memory of one agent")
		case policy.Holds(t.canonical, canonical) && !policy.Holds(t.path, dir):
			return memory{}, b.fail(g.String(), fmt.Sprintf("leads into the agents tree %q from elsewhere", t.path), fmt.Sprintf("if %q is what you mean, write that", canonical))
		case policy.Holds(t.path, dir) && t.foreign:
			return memory{}, b.fail(g.String(), fmt.Sprintf("is in the agents tree %q of another harness", t.path), "name the memory of one agent")
		case policy.Holds(t.path, dir):
			m.tree = t
			m.agent, _, _ = strings.Cut(strings.TrimPrefix(dir, t.path+"/"), "/")
			if m.agent != b.self && m.agent != b.parent {
				return memory{}, b.fail(g.String(), fmt.Sprintf("belongs to agent %q", m.agent), "name a memory of the agent's own, or name its parent with --parent-agent-id")
			}
			base = join(t.path, m.agent)
		}
	}
	if m.tree == nil && policy.Holds(canonical, b.home) {
		return memory{}, b.fail(g.String(), "holds the home directory", "name the memory of one agent")
	}
	m.writable = b.memoryParts(dir, base)
	return m, nil
}

// memoryParts returns what is written where dir is the memory. base is the agent's
// directory in a tree, and else the directory that holds dir. Of a worktree the
// directory itself and the repository that it belongs to are written, and not the
// memory's own files.
func (b *builder) memoryParts(dir, base string) []string {
	if strings.HasSuffix(base, "/"+worktreesName) {
		base = parent(base) // outside the trees
	}
	if rest, ok := strings.CutPrefix(dir, base+"/"+worktreesName+"/"); ok {
		name, _, _ := strings.Cut(rest, "/")
		return []string{base + "/" + worktreesName + "/" + name, base + "/" + memoryName + "/.git"}
	}
	if dir == join(base, memoryName) {
		return b.memoryOf(base)
	}
	return []string{dir}
}

func parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}
