package seatbelt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/golden"
	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/seatbelt"
)

const (
	letta  = "/Users/u/.letta"
	agents = letta + "/agents"
	self   = agents + "/agent-1"
	memfs  = "/Users/u/.letta-local/memfs"
)

// hostile are names that a profile's text, a shell or a decoder would trip over.
var hostile = []string{
	"/h/new\nline", `/h/quo"te`, `/h/back\slash`, "/h/bad\xff\xfeutf8",
	`/h/") (allow file-read* (subpath "`, "/h/; comment", "/h/a=b", "/h/(param \"R0\")", "/h/*[?]$~",
}

// goldenCases are the policies whose profiles are kept in testdata.
var goldenCases = []struct {
	name string
	p    policy.Policy
	fs   fakeFS
}{
	{name: "cross-agent", p: policy.Policy{
		Denied: []string{agents, memfs}, Writable: []string{self},
	}},
	{name: "memory-subagent", p: policy.Policy{
		BaseWritable: []string{letta}, Denied: []string{agents, memfs}, ReadOnly: []string{self},
		Writable: []string{self + "/memory", self + "/memory-worktrees"}, RestrictWrites: true,
	}, fs: fakeFS{self + "/memory-worktrees": policy.Missing}},
	{name: "workspace", p: policy.Policy{
		Denied: []string{"/Users/u/isolated"}, Writable: []string{"/Users/u/isolated/ws", "/private/tmp"}, RestrictWrites: true,
	}},
	{name: "files", p: policy.Policy{
		Denied: []string{"/w/key", "/w/sock", "/w/late/later"}, ReadOnly: []string{"/w/settings.json"},
	}, fs: fakeFS{
		"/w/key": policy.File, "/w/sock": policy.Other, "/w/settings.json": policy.File,
		"/w/late": policy.Missing, "/w/late/later": policy.Missing,
	}},
	{name: "readonly-root", p: policy.Policy{ReadOnly: []string{"/w/repo/.git"}}},
	{name: "read-only", p: policy.Policy{RestrictWrites: true}},
	{name: "nothing", p: policy.Policy{}},
	{name: "hostile", p: policy.Policy{Denied: hostile}},
}

func TestGolden(t *testing.T) {
	for _, tt := range goldenCases {
		t.Run(tt.name, func(t *testing.T) {
			plan := profile(t, tt.p, tt.fs)
			evaluate(t, plan, tt.fs)
			var out strings.Builder
			out.WriteString(plan.Text)
			for _, p := range plan.Params {
				fmt.Fprintf(&out, "-D%s=%q\n", p.Name, p.Value)
			}
			for _, root := range plan.Skipped {
				fmt.Fprintf(&out, "skipped %q\n", root.Path)
			}
			golden.Compare(t, tt.name, []byte(out.String()))
		})
	}
}

func TestHostileNames(t *testing.T) {
	plan := profile(t, policy.Policy{Denied: hostile}, nil)
	s := evaluate(t, plan, nil)
	for _, path := range hostile {
		for _, at := range []string{path, path + "/x"} {
			if got := s.Read(at); got != sim.VerdictDeny {
				t.Errorf("Read(%q) = %v, want deny", at, got)
			}
		}
		if got := s.Read(path + "x"); got != sim.VerdictAllow {
			t.Errorf("Read(%q) = %v, want allow", path+"x", got)
		}
	}
	plain := make([]string, len(hostile))
	for i := range plain {
		plain[i] = fmt.Sprintf("/h/%d", i)
	}
	if want := profile(t, policy.Policy{Denied: plain}, nil).Text; plan.Text != want {
		t.Errorf("the text depends on the names\n--- got\n%s--- want\n%s", plan.Text, want)
	}
}

// What letta-code's own profiles say of the paths that matter most, and what
// they miss: moving ~/.letta away, a hard link out of the tree, a write to a
// readonly root that no denied root holds.
func TestLettaPolicies(t *testing.T) {
	cross, memory := goldenCases[0], goldenCases[1]
	crossS := evaluate(t, profile(t, cross.p, cross.fs), cross.fs)
	memoryS := evaluate(t, profile(t, memory.p, memory.fs), memory.fs)
	other := agents + "/agent-2/memory/notes.md"
	tests := []struct {
		name string
		got  sim.Verdict
		want sim.Verdict
	}{
		{"cross-agent reads its own memory", crossS.Read(self + "/memory/notes.md"), sim.VerdictAllow},
		{"cross-agent writes its own memory", crossS.Write(self + "/memory/notes.md"), sim.VerdictAllow},
		{"cross-agent does not read another's", crossS.Read(other), sim.VerdictDeny},
		{"cross-agent does not list the agents", crossS.List(agents), sim.VerdictDeny},
		{"cross-agent may stat the agents directory", crossS.Stat(agents), sim.VerdictAllow},
		{"cross-agent does not stat another's", crossS.Stat(other), sim.VerdictDeny},
		{"cross-agent does not move ~/.letta away", crossS.Rename(letta, "/Users/u/x"), sim.VerdictDeny},
		{"cross-agent does not exchange ~/.letta for another", crossS.Rename("/Users/u/x", letta), sim.VerdictDeny},
		{"cross-agent does not move its carve-out away", crossS.Rename(self, "/Users/u/x"), sim.VerdictDeny},
		{"cross-agent does not link a file out", crossS.Link(other, "/Users/u/x"), sim.VerdictDeny},
		{"cross-agent does not connect to another's socket", crossS.Connect(agents + "/agent-2/s"), sim.VerdictDeny},
		{"cross-agent connects to its own socket", crossS.Connect(self + "/s"), sim.VerdictAllow},
		{"cross-agent writes elsewhere", crossS.Create("/Users/u/repo/x"), sim.VerdictAllow},
		{"cross-agent cannot mount", crossS.Decide("file-mount", "/Users/u/x"), sim.VerdictDeny},
		{"cross-agent does not read the disk below", crossS.Read("/dev/rdisk3s1"), sim.VerdictDeny},

		{"memory writes harness state", memoryS.Create(letta + "/logs/x"), sim.VerdictAllow},
		{"memory does not write a repository", memoryS.Create("/Users/u/repo/x"), sim.VerdictDeny},
		{"memory does not link a file to write through it", memoryS.Link("/Users/u/repo/x", letta+"/x"), sim.VerdictDeny},
		{"memory reads its own directory", memoryS.Read(self + "/config"), sim.VerdictAllow},
		{"memory does not write its own directory", memoryS.Write(self + "/config"), sim.VerdictDeny},
		{"memory writes its own memory", memoryS.Write(self + "/memory/notes.md"), sim.VerdictAllow},
		{"memory does not replace its memory root", memoryS.Unlink(self + "/memory"), sim.VerdictDeny},
		{"memory does not plant a link for a missing root", memoryS.Create(self + "/memory-worktrees"), sim.VerdictDeny},
		{"memory does not replace the base root", memoryS.Unlink(letta), sim.VerdictDeny},
		{"memory writes /dev/null", memoryS.Write("/dev/null"), sim.VerdictAllow},
		{"memory does not remove /dev/null", memoryS.Unlink("/dev/null"), sim.VerdictDeny},
		{"memory writes its terminal", memoryS.Write("/dev/ttys003"), sim.VerdictAllow},
		{"memory writes its own descriptors", memoryS.Write("/dev/fd/1"), sim.VerdictAllow},
		{"memory does not write another device", memoryS.Write("/dev/cu.modem"), sim.VerdictDeny},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestFirmlinkSpelling(t *testing.T) {
	const data = "/System/Volumes/Data"
	p := policy.Policy{Denied: []string{"/Users/u/d", data + "/opt/d"}, ReadOnly: []string{"/Users/u/r"}}
	s := evaluate(t, profile(t, p, nil), nil)
	for _, path := range []string{"/Users/u/d/x", data + "/Users/u/d/x", "/opt/d/x", data + "/opt/d/x"} {
		if got := s.Read(path); got != sim.VerdictDeny {
			t.Errorf("Read(%q) = %v, want deny", path, got)
		}
	}
	if got := s.Write(data + "/Users/u/r/x"); got != sim.VerdictDeny {
		t.Errorf("Write to a readonly root in its other spelling = %v, want deny", got)
	}
	if got := s.Rename(data+"/Users/u", "/x"); got != sim.VerdictDeny {
		t.Errorf("Rename of an ancestor in its other spelling = %v, want deny", got)
	}
	p = policy.Policy{Writable: []string{"/Users/u/w"}, RestrictWrites: true}
	if got := evaluate(t, profile(t, p, nil), nil).Write(data + "/Users/u/w/x"); got != sim.VerdictDeny {
		t.Errorf("Write to a writable root in its other spelling = %v, want deny", got)
	}
}

// On a case-insensitive volume another case is the same file. Literal and subpath
// fold there, regex does not.
func TestCaseInsensitiveVolume(t *testing.T) {
	s := evaluate(t, profile(t, goldenCases[0].p, nil), nil)
	s.FoldCase = true
	if got := s.Read("/USERS/u/.LETTA/Agents/agent-2/x"); got != sim.VerdictDeny {
		t.Errorf("Read in another case = %v, want deny", got)
	}
	if got := s.Rename("/Users/U", "/x"); got != sim.VerdictDeny {
		t.Errorf("Rename of an ancestor in another case = %v, want deny", got)
	}
	if got := s.Read("/Users/u/.letta/agents/AGENT-1/x"); got != sim.VerdictAllow {
		t.Errorf("Read of the carve-out in another case = %v, want allow", got)
	}
}

func TestDevices(t *testing.T) {
	readonly := evaluate(t, profile(t, policy.Policy{ReadOnly: []string{"/dev"}}, nil), nil)
	if got := readonly.Write("/dev/null"); got != sim.VerdictAllow {
		t.Errorf("/dev readonly: Write(/dev/null) = %v, want allow", got)
	}
	if got := readonly.Write("/dev/x"); got != sim.VerdictDeny {
		t.Errorf("/dev readonly: Write(/dev/x) = %v, want deny", got)
	}
	fsys := fakeFS{"/dev/tty": policy.Device}
	denied := evaluate(t, profile(t, policy.Policy{Denied: []string{"/dev/tty"}, RestrictWrites: true}, fsys), fsys)
	if got := denied.Write("/dev/tty"); got != sim.VerdictDeny {
		t.Errorf("/dev/tty denied: Write = %v, want deny", got)
	}
}

// A directory above a missing denied root can be made, and stays where it is.
func TestMissingAncestor(t *testing.T) {
	tt := goldenCases[3]
	s := evaluate(t, profile(t, tt.p, tt.fs), tt.fs)
	if got := s.Create("/w/late"); got != sim.VerdictAllow {
		t.Errorf("Create(/w/late) = %v, want allow", got)
	}
	if got := s.Unlink("/w/late"); got != sim.VerdictDeny {
		t.Errorf("Unlink(/w/late) = %v, want deny", got)
	}
	if got := s.Create("/w/late/later"); got != sim.VerdictDeny {
		t.Errorf("Create(/w/late/later) = %v, want deny", got)
	}
}

func TestDenyHelpers(t *testing.T) {
	plan := profile(t, goldenCases[0].p, nil)
	for _, op := range []string{"lsopen", "appleevent-send", "job-creation"} {
		if got := evaluate(t, plan, nil).Decide(op, ""); got != sim.VerdictAllow {
			t.Errorf("%s = %v, want allow", op, got)
		}
		if got := evaluate(t, plan.DenyHelpers(), nil).Decide(op, ""); got != sim.VerdictDeny {
			t.Errorf("%s with DenyHelpers = %v, want deny", op, got)
		}
	}
}

func TestAbove(t *testing.T) {
	r := resolve(t, goldenCases[0].p, nil)
	if got := seatbelt.Above(r, self+"/memory"); len(got) != 1 || got[0] != agents {
		t.Errorf("Above = %q, want %q", got, agents)
	}
	if got := seatbelt.Above(r, "/Users/u/repo"); got != nil {
		t.Errorf("Above = %q, want none", got)
	}
}
