package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// linkTree is a home with agents' directories, and links into, out of and past
// them. Only /h and what lies below it can be changed by the caller.
func linkTree() *sim.Tree {
	t := sim.NewTree().
		Dirs("/h/agents/alice/memory", "/h/agents/bob/memory", "/h/work", "/srv/data/x", "/etc").
		Link("/h/agents/alice/planted", "../bob/memory").
		Link("/h/agents/alice/outside", "/etc").
		Link("/h/memory", "agents/bob/memory").
		Link("/h/data", "/srv/data").
		Link("/safe", "/h/agents").
		Link("/deep", "/h/agents/bob").
		Link("/srv/again", "data").
		Link("/srv/data/in", "x")
	t.CanReplace = func(dir string) bool { return dir == "/h" || strings.HasPrefix(dir, "/h/") }
	return t
}

func TestLinks(t *testing.T) {
	tests := []struct {
		name string
		p    policy.Policy
		link string // the link that the error names; "" where there is no error
		real string // the path that the hint offers
	}{
		{
			"carve-out through a link planted below the denied root",
			policy.Policy{Denied: []string{"/h/agents"}, Writable: []string{"/h/agents/alice/planted"}, RestrictWrites: true},
			"/h/agents/alice/planted", "/h/agents/bob/memory",
		},
		{
			"the same for a readonly root",
			policy.Policy{Denied: []string{"/h/agents"}, ReadOnly: []string{"/h/agents/alice/planted"}, RestrictWrites: true},
			"/h/agents/alice/planted", "/h/agents/bob/memory",
		},
		{
			"carve-out below a planted link",
			policy.Policy{Denied: []string{"/h/agents"}, Writable: []string{"/h/agents/alice/planted/new"}, RestrictWrites: true},
			"/h/agents/alice/planted", "/h/agents/bob/memory/new",
		},
		{
			"planted link below a denied root that is spelled through a safe link",
			policy.Policy{Denied: []string{"/safe"}, Writable: []string{"/safe/alice/planted"}, RestrictWrites: true},
			"/h/agents/alice/planted", "/h/agents/bob/memory",
		},
		{
			"planted link below the denied root that leads out of it",
			policy.Policy{Denied: []string{"/h/agents"}, Writable: []string{"/h/agents/alice/outside"}, RestrictWrites: true},
			"/h/agents/alice/outside", "/etc",
		},
		{
			"planted link that leads from one denied root into another",
			policy.Policy{Denied: []string{"/h/agents/alice", "/h/agents/bob"}, ReadOnly: []string{"/h/agents/alice/planted"}, RestrictWrites: true},
			"/h/agents/alice/planted", "/h/agents/bob/memory",
		},
		{
			"memory directory elsewhere that is a link into the denied tree",
			policy.Policy{Denied: []string{"/h/agents"}, Writable: []string{"/h/memory"}, RestrictWrites: true},
			"/h/memory", "/h/agents/bob/memory",
		},
		{
			"the same link where the caller could not have changed it",
			policy.Policy{Denied: []string{"/h/agents"}, Writable: []string{"/deep/memory"}, RestrictWrites: true},
			"/deep", "/h/agents/bob/memory",
		},
		{
			"the same for a readonly root, where the caller could not have changed it",
			policy.Policy{Denied: []string{"/h/agents"}, ReadOnly: []string{"/deep/memory"}, RestrictWrites: true},
			"/deep", "/h/agents/bob/memory",
		},
		{
			"denied root through such a link below another denied root",
			policy.Policy{Denied: []string{"/srv/data", "/srv/data/in"}, RestrictWrites: true},
			"", "",
		},
		{
			"readonly root through a safe link, and a denied root that does not hold it",
			policy.Policy{Denied: []string{"/etc"}, ReadOnly: []string{"/srv/again"}, RestrictWrites: true},
			"", "",
		},
		{
			"denied root and carve-out spelled through one safe link",
			policy.Policy{Denied: []string{"/safe"}, Writable: []string{"/safe/alice/memory"}, ReadOnly: []string{"/safe/alice"}, RestrictWrites: true},
			"", "",
		},
		{
			"carve-out spelled canonically, denied root through a safe link",
			policy.Policy{Denied: []string{"/safe"}, Writable: []string{"/h/agents/alice/memory"}, RestrictWrites: true},
			"", "",
		},
		{
			"carve-out spelled through a safe link, denied root spelled both ways",
			policy.Policy{Denied: []string{"/h/agents", "//safe/."}, Writable: []string{"/safe/./alice//memory/"}, RestrictWrites: true},
			"", "",
		},
		{
			"carve-out spelled through a safe link, denied root canonically",
			policy.Policy{Denied: []string{"/h/agents"}, Writable: []string{"/safe/alice/memory"}, RestrictWrites: true},
			"/safe", "/h/agents/alice/memory",
		},
		{
			"carve-out spelled through a link of the denied root and then ..",
			policy.Policy{Denied: []string{"/safe"}, Writable: []string{"/safe/alice/../alice/memory"}, RestrictWrites: true},
			"/safe", "/h/agents/alice/memory",
		},
		{
			"denied root through a link that the command could re-point",
			policy.Policy{Denied: []string{"/h/data"}},
			"/h/data", "/srv/data",
		},
		{
			"readonly root through a link that the command could re-point",
			policy.Policy{ReadOnly: []string{"/h/data"}},
			"/h/data", "/srv/data",
		},
		{
			"writable root through a link that the command could re-point",
			policy.Policy{Writable: []string{"/h/data/x"}, BaseWritable: []string{"/h"}, RestrictWrites: true},
			"/h/data", "/srv/data/x",
		},
		{
			"base root through a link that the command could re-point",
			policy.Policy{BaseWritable: []string{"/h/data"}, RestrictWrites: true},
			"/h/data", "/srv/data",
		},
		{
			"the same link where this policy lets nobody write to its directory",
			policy.Policy{Denied: []string{"/h/data"}, RestrictWrites: true},
			"/h/data", "/srv/data",
		},
		{
			"a link in a directory that the caller has no right to change",
			policy.Policy{Denied: []string{"/srv/again"}},
			"", "",
		},
		{
			"a second link of the same denied root that could be re-pointed",
			policy.Policy{Denied: []string{"/srv/data", "/h/data"}},
			"/h/data", "/srv/data",
		},
		{
			"the same in the other order",
			policy.Policy{Denied: []string{"/h/data", "/srv/data"}},
			"/h/data", "/srv/data",
		},
		{
			"a readonly root through a link, at the path of a writable one",
			policy.Policy{ReadOnly: []string{"/h/data"}, Writable: []string{"/srv/data"}},
			"/h/data", "/srv/data",
		},
		{
			"a canonical root has no link",
			policy.Policy{Denied: []string{"/h/agents"}, Writable: []string{"/h/agents/alice/memory"}},
			"", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := policy.Resolve(tt.p, linkTree())
			if tt.link == "" {
				if err != nil {
					t.Errorf("Resolve: %v", err)
				}
				return
			}
			var root *policy.RootError
			if !errors.Is(err, policy.ErrLink) || !errors.As(err, &root) {
				t.Fatalf("Resolve error = %v, want %v", err, policy.ErrLink)
			}
			want := "symlink that the command could have planted"
			if tt.link != root.Path { // a path is named once
				want += fmt.Sprintf(": %q", tt.link)
			}
			if !strings.HasSuffix(err.Error(), want) {
				t.Errorf("error %q does not name the link %q", err, tt.link)
			}
			if want := fmt.Sprintf("if %q is what you mean, write that", tt.real); root.Hint() != want {
				t.Errorf("hint %q, want %q", root.Hint(), want)
			}
		})
	}
}

// Whoever can rename /w/sub can put another /w/sub/l in the old one's place, so
// every directory above the link counts. The policy does not: the run that put
// it there may have had another.
func TestLinkBelowReplaceableDirectory(t *testing.T) {
	for _, tt := range []struct {
		name    string
		replace string // the one directory that the caller may change
		want    error
	}{
		{"the directory that holds the link", "/w/sub", policy.ErrLink},
		{"a directory above it", "/w", policy.ErrLink},
		{"the root", "/", policy.ErrLink},
		{"a directory beside it", "/w/other", nil},
		{"where the link leads", "/real", nil},
	} {
		for _, l := range policy.Lists() {
			t.Run(tt.name+"/"+l.String(), func(t *testing.T) {
				tree := sim.NewTree().Dirs("/real", "/w/other").Link("/w/sub/l", "/real")
				tree.CanReplace = func(dir string) bool { return dir == tt.replace }
				p := policy.Policy{RestrictWrites: true}
				if err := p.Add(l, "/w/sub/l"); err != nil {
					t.Fatal(err)
				}
				if _, err := policy.Resolve(p, tree); !errors.Is(err, tt.want) {
					t.Errorf("Resolve error = %v, want %v", err, tt.want)
				}
			})
		}
	}
}

// A link in /proc leads elsewhere for every process, whoever may replace it.
func TestLinkInProc(t *testing.T) {
	for _, path := range []string{"/proc/self", "/proc/mounts", "/etc/mtab"} {
		for _, l := range []policy.List{policy.Denied, policy.ReadOnly} {
			tree := sim.NewTree().Dirs("/etc").Link("/etc/mtab", "/proc/self/mounts").
				Dirs("/proc/7").Files("/proc/7/mounts").Link("/proc/self", "7").Link("/proc/mounts", "self/mounts")
			tree.CanReplace = func(string) bool { return false }
			var p policy.Policy
			if err := p.Add(l, path); err != nil {
				t.Fatal(err)
			}
			if _, err := policy.Resolve(p, tree); !errors.Is(err, policy.ErrProcLink) {
				t.Errorf("%v %q: Resolve error = %v, want %v", l, path, err, policy.ErrProcLink)
			}
		}
	}
}
