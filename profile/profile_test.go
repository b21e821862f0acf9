package profile_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/profile"
)

// A profile must not be able to touch the host: what it knows of the file system
// comes through policy.FS, and the environment through a function.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"errors", "fmt", "strings", "github.com/letta-confine/letta-confine/policy"}
	imports := strings.Fields(string(out))
	if len(imports) == 0 {
		t.Fatal("go list names no import of package profile")
	}
	for _, imp := range imports {
		if !slices.Contains(allowed, imp) {
			t.Errorf("profile imports %q; allowed are %q", imp, allowed)
		}
	}
}

const (
	letta  = "/home/u/.letta"
	agents = letta + "/agents"
	memfs  = letta + "/lc-local-backend/memfs"
)

// host is a home directory with three agents, and another spelling of it.
func host() *sim.Tree {
	return sim.NewTree().
		Dirs(agents+"/self/memory", agents+"/bob/memory", agents+"/boss/memory", memfs+"/self/memory").
		Dirs("/data/mem/memory", "/srv/tenants/a", "/srv/tenants/b").
		Link("/h", "home").Link("/data/planted", "/home/u/.letta/agents/bob/memory")
}

type env map[string]string

func build(name string, e env, f profile.Flags, tree *sim.Tree) (*profile.Profile, error) {
	return profile.Build(name, profile.Source{
		Flags: f, Getenv: func(name string) string { return e[name] }, Cwd: "/srv/tenants/a", FS: tree,
	})
}

var profiles = []struct {
	test  string
	name  string
	env   env
	flags profile.Flags
	want  policy.Policy
}{
	{
		"the shell of an agent", "cross-agent",
		env{"HOME": "/home/u", "AGENT_ID": "self"},
		profile.Flags{},
		policy.Policy{Denied: []string{agents, memfs}, Writable: []string{agents + "/self", memfs + "/self"}},
	},
	{
		"flags go before variables, and an empty variable is none", "cross-agent",
		env{"HOME": "/nowhere", "AGENT_ID": "bob", "LETTA_AGENT_ID": "bob", "LETTA_LOCAL_BACKEND_DIR": ""},
		profile.Flags{AgentID: "self", Home: "/home/u/"},
		policy.Policy{Denied: []string{agents, memfs}, Writable: []string{agents + "/self", memfs + "/self"}},
	},
	{
		"the second name of the variable", "cross-agent",
		env{"HOME": "/home/u", "AGENT_ID": "", "LETTA_AGENT_ID": "self"},
		profile.Flags{},
		policy.Policy{Denied: []string{agents, memfs}, Writable: []string{agents + "/self", memfs + "/self"}},
	},
	{
		"a parent counts for a subagent, and is only read", "cross-agent",
		env{"HOME": "/home/u", "AGENT_ID": "self", "LETTA_PARENT_AGENT_ID": "boss", "LETTA_CODE_AGENT_ROLE": "subagent", "MEMORY_DIR": agents + "/boss/memory"},
		profile.Flags{},
		policy.Policy{
			Denied:   []string{agents, memfs},
			ReadOnly: []string{agents + "/boss/memory", memfs + "/boss/memory"},
			Writable: []string{agents + "/self", memfs + "/self"},
		},
	},
	{
		"a parent does not count for another role", "cross-agent",
		env{"HOME": "/home/u", "AGENT_ID": "self", "LETTA_PARENT_AGENT_ID": "boss"},
		profile.Flags{},
		policy.Policy{Denied: []string{agents, memfs}, Writable: []string{agents + "/self", memfs + "/self"}},
	},
	{
		"a role of an agent acts for the agent", "cross-agent",
		env{"HOME": "/home/u", "AGENT_ID": "self~reflection"},
		profile.Flags{ParentAgentID: "self"},
		policy.Policy{Denied: []string{agents, memfs}, Writable: []string{agents + "/self", memfs + "/self"}},
	},
	{
		"the home directory is resolved, and what is written below it too", "cross-agent",
		env{"HOME": "/h/u", "AGENT_ID": "self", "LETTA_LOCAL_BACKEND_DIR": "/h/u//.letta/lc-local-backend/"},
		profile.Flags{AgentsTrees: []string{"/h/u/more"}},
		policy.Policy{
			Denied:   []string{agents, memfs, "/home/u/more"},
			Writable: []string{agents + "/self", memfs + "/self", "/home/u/more/self"},
		},
	},
	{
		"a memory outside the trees stays writable", "cross-agent",
		env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": "/data/mem/memory"},
		profile.Flags{},
		policy.Policy{
			Denied:   []string{agents, memfs},
			Writable: []string{agents + "/self", memfs + "/self", "/data/mem/memory", "/data/mem/memory-worktrees"},
		},
	},
	{
		"the memory subagent", "memory-subagent",
		env{"HOME": "/home/u", "AGENT_ID": "self"},
		profile.Flags{},
		policy.Policy{
			BaseWritable: []string{letta}, Denied: []string{agents, memfs}, ReadOnly: []string{agents + "/self", memfs + "/self"},
			Writable: []string{
				agents + "/self/memory", agents + "/self/memory-worktrees",
				memfs + "/self/memory", memfs + "/self/memory-worktrees",
			},
			RestrictWrites: true,
		},
	},
	{
		"the memory subagent on one memory", "memory-subagent",
		env{"HOME": "/home/u", "AGENT_ID": "self", "LETTA_MEMORY_DIR": agents + "/self/memory/"},
		profile.Flags{},
		policy.Policy{
			BaseWritable: []string{letta}, Denied: []string{agents, memfs}, ReadOnly: []string{agents + "/self", memfs + "/self"},
			Writable:       []string{agents + "/self/memory", agents + "/self/memory-worktrees"},
			RestrictWrites: true,
		},
	},
	{
		"the memory subagent that works on its parent's memory", "memory-subagent",
		env{"HOME": "/home/u", "AGENT_ID": "self", "LETTA_PARENT_AGENT_ID": "boss", "LETTA_CODE_AGENT_ROLE": "subagent", "MEMORY_DIR": agents + "/boss/memory"},
		profile.Flags{},
		policy.Policy{
			BaseWritable: []string{letta}, Denied: []string{agents, memfs},
			ReadOnly:       []string{agents + "/self", memfs + "/self", agents + "/boss/memory", memfs + "/boss/memory"},
			Writable:       []string{agents + "/boss/memory", agents + "/boss/memory-worktrees"},
			RestrictWrites: true,
		},
	},
	{
		"the memory subagent in a worktree of the memory", "memory-subagent",
		env{"HOME": "/home/u", "AGENT_ID": "self"},
		profile.Flags{MemoryDir: agents + "/self/memory-worktrees/w1/system"},
		policy.Policy{
			BaseWritable: []string{letta}, Denied: []string{agents, memfs}, ReadOnly: []string{agents + "/self", memfs + "/self"},
			Writable:       []string{agents + "/self/memory-worktrees/w1", agents + "/self/memory/.git"},
			RestrictWrites: true,
		},
	},
	{
		"the memory subagent with a memory outside the trees", "memory-subagent",
		env{"HOME": "/home/u", "AGENT_ID": "self"},
		profile.Flags{MemoryDir: "/data/mem/memory"},
		policy.Policy{
			BaseWritable: []string{letta}, Denied: []string{agents, memfs}, ReadOnly: []string{agents + "/self", memfs + "/self"},
			Writable:       []string{"/data/mem/memory", "/data/mem/memory-worktrees"},
			RestrictWrites: true,
		},
	},
	{
		"the memory subagent in a worktree outside the trees", "memory-subagent",
		env{"HOME": "/home/u", "AGENT_ID": "self"},
		profile.Flags{MemoryDir: "/data/mem/memory-worktrees/w1"},
		policy.Policy{
			BaseWritable: []string{letta}, Denied: []string{agents, memfs}, ReadOnly: []string{agents + "/self", memfs + "/self"},
			Writable:       []string{"/data/mem/memory-worktrees/w1", "/data/mem/memory/.git"},
			RestrictWrites: true,
		},
	},
	{
		"a backend and transcripts outside the harness's own directory", "memory-subagent",
		env{"HOME": "/home/u", "AGENT_ID": "self", "LETTA_LOCAL_BACKEND_DIR": "/srv/letta", "LETTA_TRANSCRIPT_ROOT": "/srv/transcripts", "MEMORY_DIR": "/srv/letta/memfs/self/memory"},
		profile.Flags{},
		policy.Policy{
			BaseWritable: []string{letta, "/srv/letta", "/srv/transcripts"}, Denied: []string{agents, "/srv/letta/memfs"},
			ReadOnly:       []string{agents + "/self", "/srv/letta/memfs/self"},
			Writable:       []string{"/srv/letta/memfs/self/memory", "/srv/letta/memfs/self/memory-worktrees"},
			RestrictWrites: true,
		},
	},
	{
		"a tenant's workspace", "workspace",
		env{},
		profile.Flags{IsolationRoot: "/srv/tenants"},
		policy.Policy{Denied: []string{"/srv/tenants"}, Writable: []string{"/srv/tenants/a"}, RestrictWrites: true},
	},
	{
		"a workspace elsewhere has to be named", "workspace",
		env{"HOME": "/home/u"},
		profile.Flags{IsolationRoot: "/srv/tenants", Workspace: "/data/mem", AgentsTrees: []string{agents}},
		policy.Policy{Denied: []string{"/srv/tenants", agents}, Writable: []string{"/data/mem"}, RestrictWrites: true},
	},
}

func TestProfiles(t *testing.T) {
	for _, c := range profiles {
		t.Run(c.test, func(t *testing.T) {
			p, err := build(c.name, c.env, c.flags, host())
			if err != nil {
				t.Fatalf("Build(%q) = %v", c.name, err)
			}
			for _, l := range policy.Lists() {
				if !slices.Equal(p.Policy.Roots(l), c.want.Roots(l)) {
					t.Errorf("%v\nare  %q,\nwant %q", l, p.Policy.Roots(l), c.want.Roots(l))
				}
			}
			if p.Policy.RestrictWrites != c.want.RestrictWrites {
				t.Errorf("RestrictWrites = %v, want %v", p.Policy.RestrictWrites, c.want.RestrictWrites)
			}
			// Nothing that a profile says is refused as a policy.
			if _, err := policy.Resolve(p.Policy, host()); err != nil {
				t.Errorf("Resolve = %v", err)
			}
		})
	}
}

// What the harness obeys is kept from its memory subagent where it is there.
func TestSettingsStayAsTheyAre(t *testing.T) {
	tree := host().Files(letta + "/settings.json").Dirs(letta + "/mods")
	p, err := build("memory-subagent", env{"HOME": "/home/u", "AGENT_ID": "self"}, profile.Flags{}, tree)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{letta + "/settings.json", letta + "/mods", agents + "/self", memfs + "/self"}
	if !slices.Equal(p.Policy.ReadOnly, want) {
		t.Errorf("ReadOnly = %q, want %q", p.Policy.ReadOnly, want)
	}
}

// Where temporary files and worktrees go.
func TestMemories(t *testing.T) {
	for _, c := range []struct {
		dir                 string
		memories, worktrees []string
	}{
		{
			"",
			[]string{agents + "/self/memory", memfs + "/self/memory"},
			[]string{agents + "/self/memory-worktrees", memfs + "/self/memory-worktrees"},
		},
		{agents + "/self/memory", []string{agents + "/self/memory"}, []string{agents + "/self/memory-worktrees"}},
		{agents + "/self/memory-worktrees/w", []string{agents + "/self/memory-worktrees/w"}, nil},
		{"/data/notes", []string{"/data/notes"}, nil},
	} {
		p, err := build("memory-subagent", env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": c.dir}, profile.Flags{}, host())
		if err != nil {
			t.Errorf("MEMORY_DIR=%q: %v", c.dir, err)
			continue
		}
		if !slices.Equal(p.Memories, c.memories) || !slices.Equal(p.Worktrees, c.worktrees) {
			t.Errorf("MEMORY_DIR=%q: memories %q and worktrees %q, want %q and %q", c.dir, p.Memories, p.Worktrees, c.memories, c.worktrees)
		}
	}
}

func TestRefused(t *testing.T) {
	const both = "cross-agent memory-subagent"
	for _, c := range []struct {
		profiles string
		env      env
		flags    profile.Flags
		want     string // after "profile NAME: "
	}{
		{"nonesuch", nil, profile.Flags{}, "there is none of that name"},
		{both, env{"AGENT_ID": "self"}, profile.Flags{}, "there is no home directory"},
		{both, env{"HOME": "home/u", "AGENT_ID": "self"}, profile.Flags{}, `HOME "home/u" is not absolute`},
		{both, env{"HOME": "/home/u"}, profile.Flags{}, "there is no agent id"},
		{both, env{"HOME": "/home/u", "AGENT_ID": "."}, profile.Flags{}, `AGENT_ID "." is no name of a directory's own`},
		{both, env{"HOME": "/home/u", "LETTA_AGENT_ID": ".."}, profile.Flags{}, `LETTA_AGENT_ID ".." is no name of a directory's own`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "..~x"}, profile.Flags{}, `AGENT_ID "..~x" is no name of a directory's own`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "~x"}, profile.Flags{}, `AGENT_ID "~x" names no agent`},
		{both, env{"HOME": "/home/u"}, profile.Flags{AgentID: "self/../bob"}, `--agent-id "self/../bob" holds a slash or a NUL byte`},
		{both, env{"HOME": "/home/u"}, profile.Flags{AgentID: "self\x00"}, `--agent-id "self\x00" holds a slash or a NUL byte`},
		{both, env{"HOME": "/home/u"}, profile.Flags{AgentID: "self", ParentAgentID: "a/b"}, `--parent-agent-id "a/b" holds a slash or a NUL byte`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": "memory"}, profile.Flags{}, `MEMORY_DIR "memory" is not absolute`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": agents + "/self/../bob"}, profile.Flags{}, `MEMORY_DIR "` + agents + `/self/../bob" holds a ".."`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": "/a\x00"}, profile.Flags{}, `MEMORY_DIR "/a\x00" holds a NUL byte`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": agents}, profile.Flags{}, `MEMORY_DIR "` + agents + `" is the agents tree "` + agents + `" or lies above it`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": "/"}, profile.Flags{}, `MEMORY_DIR "/" is the agents tree "` + agents + `" or lies above it`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": "/h/u/.letta"}, profile.Flags{}, `MEMORY_DIR "/h/u/.letta" is the agents tree "` + agents + `" or lies above it`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": agents + "/bob/memory"}, profile.Flags{}, `MEMORY_DIR "` + agents + `/bob/memory" belongs to agent "bob"`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": agents + "/selfish/memory"}, profile.Flags{}, `MEMORY_DIR "` + agents + `/selfish/memory" belongs to agent "selfish"`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": "/data/planted"}, profile.Flags{}, `MEMORY_DIR "/data/planted" leads into the agents tree "` + agents + `" from elsewhere`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "self", "LETTA_LOCAL_BACKEND_DIR": "x"}, profile.Flags{}, `LETTA_LOCAL_BACKEND_DIR "x" is not absolute`},
		{both, env{"HOME": "/home/u", "AGENT_ID": "self"}, profile.Flags{AgentsTrees: []string{agents + "/self"}}, `the carve-out "` + agents + `/self" is the denied root "` + agents + `/self" or lies above it`},
		{"memory-subagent", env{"HOME": "/home/u", "AGENT_ID": "self", "LETTA_TRANSCRIPT_ROOT": "/"}, profile.Flags{}, `LETTA_TRANSCRIPT_ROOT "/" holds the home directory, and all of it would be writable`},
		{"memory-subagent", env{"HOME": "/home/u", "AGENT_ID": "self", "LETTA_LOCAL_BACKEND_DIR": "/home/u"}, profile.Flags{}, `LETTA_LOCAL_BACKEND_DIR "/home/u" holds the home directory, and all of it would be writable`},
		{"workspace", env{}, profile.Flags{}, "there is no isolation root"},
		{"workspace", env{}, profile.Flags{IsolationRoot: "/srv/tenants/b"}, `working directory "/srv/tenants/a" is not below the isolation root`},
		{"workspace", env{}, profile.Flags{IsolationRoot: "/srv/tenants", Workspace: "/srv"}, `the carve-out "/srv" is the denied root "/srv/tenants" or lies above it`},
		{"workspace", env{}, profile.Flags{IsolationRoot: "/srv/tenants", Workspace: "/srv/tenants"}, `the carve-out "/srv/tenants" is the denied root "/srv/tenants" or lies above it`},
		{"workspace", env{}, profile.Flags{IsolationRoot: "tenants"}, `--isolation-root "tenants" is not absolute`},
	} {
		for name := range strings.FieldsSeq(c.profiles) {
			p, err := build(name, c.env, c.flags, host())
			if err == nil {
				t.Errorf("Build(%q, %q, %+v) = %+v, want an error", name, c.env, c.flags, p)
				continue
			}
			if want := "profile " + name + ": " + c.want; err.Error() != want {
				t.Errorf("Build(%q) = %q,\nwant %q", name, err, want)
			}
			if h, ok := err.(*profile.Error); !ok || h.Hint() == "" {
				t.Errorf("Build(%q) = %q, which has no hint", name, err)
			}
		}
	}
}

// A volume that does not tell upper case from lower finds another agent's memory
// by another spelling of the tree.
func TestSpellingDoesNotLeadIntoATree(t *testing.T) {
	tree := host()
	tree.FoldsCase = true
	_, err := build("memory-subagent", env{"HOME": "/home/u", "AGENT_ID": "self", "MEMORY_DIR": "/home/u/.letta/AGENTS/bob/memory"}, profile.Flags{}, tree)
	if err == nil || !strings.Contains(err.Error(), "leads into the agents tree") {
		t.Errorf("Build = %v, want it to say that the memory leads into the agents tree", err)
	}
}

// An agent's own directory that is a link into another's, which an earlier run
// could have planted, is refused when the policy is resolved.
func TestPlantedOwnDirectoryIsRefused(t *testing.T) {
	tree := host().Link(agents+"/eve", agents+"/bob")
	for _, name := range []string{"cross-agent", "memory-subagent"} {
		p, err := build(name, env{"HOME": "/home/u", "AGENT_ID": "eve"}, profile.Flags{}, tree)
		if err == nil {
			_, err = policy.Resolve(p.Policy, tree)
		}
		if err == nil || !strings.Contains(err.Error(), "symlink") {
			t.Errorf("profile %s: %v, want the link to be refused", name, err)
		}
	}
}
