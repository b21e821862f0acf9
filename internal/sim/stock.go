package sim

import "github.com/letta-confine/letta-confine/policy"

// Case is a policy over a host, under the name of its golden file.
type Case struct {
	Name   string
	Policy policy.Policy
	Tree   *Tree
}

// Stock returns the policies whose emission is kept in golden files: the three
// profiles as letta-code builds them, and one for each kind of root that is not a
// directory with a plain name.
func Stock() []Case {
	const (
		letta  = "/home/u/.letta"
		agents = letta + "/agents"
		self   = agents + "/agent-1"
		memfs  = letta + "/lc-local-backend/memfs"
	)
	hostile := []string{
		"/h/new\nline", `/h/quo"te`, `/h/back\slash`, "/h/bad\xff\xfeutf8", "/h/--bind", "/h/a b", "/h/*[?]$~",
	}
	return []Case{
		{
			"cross-agent",
			policy.Policy{Denied: []string{agents, memfs}, Writable: []string{self}},
			stockTree().Dirs(agents+"/agent-2", self, memfs).Files(letta + "/settings.json"),
		},
		{
			"memory-subagent",
			policy.Policy{
				BaseWritable: []string{letta}, Denied: []string{agents, memfs}, ReadOnly: []string{self},
				Writable: []string{self + "/memory", self + "/memory-worktrees"}, RestrictWrites: true,
			},
			stockTree().Dirs(agents+"/agent-2", self+"/memory", memfs).Files(letta + "/settings.json"),
		},
		{
			"workspace",
			policy.Policy{Denied: []string{"/home/u/isolated"}, Writable: []string{"/home/u/isolated/ws", "/tmp"}, RestrictWrites: true},
			stockTree().Dirs("/home/u/isolated/ws", "/home/u/isolated/other", "/tmp"),
		},
		{
			"files",
			policy.Policy{Denied: []string{"/w/key", "/w/sock"}, ReadOnly: []string{"/w/settings.json"}, Writable: []string{"/w/disk"}},
			stockTree().Files("/w/key", "/w/settings.json", "/w/notes").Add(policy.Other, "/w/sock").Add(policy.Device, "/w/disk"),
		},
		{
			"nested",
			policy.Policy{
				BaseWritable: []string{"/w"}, Denied: []string{"/w/a", "/w/a/b/c"}, ReadOnly: []string{"/w/a/b", "/w/r"},
				Writable: []string{"/w/a/b/c/d", "/w/r/w"}, RestrictWrites: true,
			},
			stockTree().Dirs("/w/a/b/c/d", "/w/r/w", "/w/ab"),
		},
		{
			"missing",
			policy.Policy{
				BaseWritable: []string{"/w"}, Denied: []string{"/w/late/later", "/etc/late"}, ReadOnly: []string{"/w/conf"},
				Writable: []string{"/w/new", "/etc/new"}, RestrictWrites: true,
			},
			stockTree().Dirs("/w/x", "/etc"),
		},
		{"readonly-root", policy.Policy{ReadOnly: []string{"/w/repo/.git"}}, stockTree().Dirs("/w/repo/.git").Files("/w/repo/main.go")},
		{"read-only", policy.Policy{RestrictWrites: true}, stockTree().Dirs("/w")},
		{"nothing", policy.Policy{}, stockTree().Dirs("/w")},
		{"hostile", policy.Policy{Denied: hostile}, stockTree().Dirs(hostile...).Dirs("/h/plain")},
	}
}

// stockTree is what every host has.
func stockTree() *Tree {
	return NewTree().Dirs("/dev/shm", "/dev/pts", "/proc/sys", "/sys", "/usr").Add(policy.Device, "/dev/null", "/dev/sda").Link("/bin", "usr/bin")
}
