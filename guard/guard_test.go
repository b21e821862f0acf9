//go:build linux

package guard_test

import (
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/profile"
	"github.com/letta-confine/letta-confine/verdict"
)

// The guard decides by package policy and reads the host through policy.FS; only
// the count of hard links and the opening of files are its own.
func TestImports(t *testing.T) {
	const own = "github.com/letta-confine/letta-confine/"
	allowed := []string{
		"bytes", "encoding/json", "errors", "fmt", "io/fs", "net/url", "os", "path", "slices", "strconv", "strings", "unicode", "unicode/utf8",
		"golang.org/x/sys/unix", own + "internal/hostfs", own + "policy", own + "profile", own + "verdict",
	}
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, imp := range strings.Fields(string(out)) {
		if !slices.Contains(allowed, imp) {
			t.Errorf("guard imports %q; allowed are %q", imp, allowed)
		}
	}
}

// home is a home directory with three agents, and ways into theirs.
func home(t *testing.T) string {
	h := scratch(t)
	agents := h + "/.letta/agents"
	mkdir(t, agents+"/agent-self/memory", agents+"/agent-other/memory", h+"/proj/src", agents+"/agent-other/out")
	file(t, agents+"/agent-other/memory/x.md")
	file(t, h+"/proj/notes.md")
	for link, to := range map[string]string{
		h + "/proj/dir":                agents + "/agent-other/memory",
		h + "/proj/dangling":           agents + "/agent-other/memory/new.md",
		h + "/proj/loop":               "loop",
		h + "/proj/root":               "/proc/self/root",
		h + "/proj/sub":                "src",
		h + "/proj/mine":               agents + "/agent-self/memory",
		agents + "/agent-other/away":   h + "/proj/src",
		agents + "/agent-self/sibling": "../agent-other",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(agents+"/agent-other/memory/x.md", h+"/proj/hard.md"); err != nil {
		t.Fatal(err)
	}
	return h
}

func file(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("text\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func crossAgent(t *testing.T, h string, env map[string]string) *guard.Guard {
	t.Helper()
	p, err := profile.FileTools(profile.Source{
		Flags: profile.Flags{Home: h, AgentID: "agent-self"}, Getenv: func(name string) string { return env[name] }, FS: hostfs.FS{},
	})
	if err != nil {
		t.Fatal(err)
	}
	g := &guard.Guard{FS: hostfs.FS{}, Home: h}
	if err := g.AddAgents(p); err != nil {
		t.Fatal(err)
	}
	return g
}

type row struct{ name, tool, input, cwd, want string }

// run replaces H in the rows and asks about each.
func run(t *testing.T, g *guard.Guard, h string, rows []row) {
	t.Helper()
	place := strings.NewReplacer("{H}", h, "{A}", h+"/.letta/agents")
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			cwd := place.Replace(r.cwd)
			if cwd == "" {
				cwd = h + "/proj"
			}
			got := g.Judge(guard.Call{Tool: r.tool, Input: []byte(place.Replace(r.input)), Cwd: cwd})
			if have := got.Decision.String() + " " + got.Code; have != r.want {
				t.Errorf("%s %s in %q: %s, want %s (%s)", r.tool, r.input, cwd, have, r.want, got.Reason)
			}
		})
	}
}

const (
	cross   = "deny " + guard.OtherAgent
	inside  = "allow " + guard.Inside
	nowhere = "deny " + guard.Unresolvable
)

func TestCrossAgent(t *testing.T) {
	h := home(t)
	run(t, crossAgent(t, h, nil), h, []row{
		{"read other", "Read", `{"file_path":"{A}/agent-other/memory/x.md"}`, "", cross},
		{"read own", "Read", `{"file_path":"{A}/agent-self/memory/x.md"}`, "", inside},
		{"write own", "Write", `{"file_path":"{A}/agent-self/memory/x.md","content":"{A}/agent-other"}`, "", inside},
		{"a role is not its agent's", "Read", `{"file_path":"{A}/agent-self~role/x"}`, "", cross},
		{"an id is a whole component", "Read", `{"file_path":"{A}/agent-selfish/x"}`, "", cross},
		{"the local backend's tree", "Read", `{"file_path":"{H}/.letta/lc-local-backend/memfs/agent-other/x"}`, "", cross},

		{"directory link", "Read", `{"file_path":"dir/x.md"}`, "", cross},
		{"link inside the own directory", "Read", `{"file_path":"{A}/agent-self/sibling/memory/x.md"}`, "", cross},
		{"dangling link", "Write", `{"file_path":"dangling"}`, "", cross},
		{"link out of another's directory", "Read", `{"file_path":"{A}/agent-other/away/x"}`, "", cross},
		{"link to the own", "Write", `{"file_path":"mine/x.md"}`, "", inside},
		{"link loop", "Read", `{"file_path":"loop/x"}`, "", nowhere},
		{"link into proc", "Read", `{"file_path":"root/etc/hostname"}`, "", nowhere},
		{"own root in proc", "Read", `{"file_path":"/proc/self/root{A}/agent-other/memory/x.md"}`, "", nowhere},
		{"descriptor in proc", "Read", `{"file_path":"/dev/fd/3/x"}`, "", nowhere},
		{"process information", "Read", `{"file_path":"/proc/cpuinfo"}`, "", inside},
		{"file as directory", "Read", `{"file_path":"notes.md/../../.letta/agents/agent-other/x"}`, "", cross},
		{"beyond what is missing", "Read", `{"file_path":"missing/../notes.md"}`, "", nowhere},
		{"NUL", "Read", `{"file_path":"a\u0000b"}`, "", nowhere},
		{"hard link", "Read", `{"file_path":"hard.md"}`, "", inside},

		{"dots", "Read", `{"file_path":"{A}/agent-self/../agent-other/x"}`, "", cross},
		{"dots from a link", "Read", `{"file_path":"sub/../../.letta/agents/agent-other/x"}`, "", cross},
		{"tilde", "Glob", `{"path":"~","pattern":"**"}`, "", cross},
		{"tilde and path", "Read", `{"file_path":"~/.letta/agents/agent-other/x"}`, "", cross},
		{"HOME", "Read", `{"file_path":"$HOME/.letta/agents/agent-other/x"}`, "", cross},
		{"HOME in braces is a name", "Read", `{"file_path":"${HOME}/.letta/agents/agent-other/x"}`, "", inside},
		{"blanks around", "Read", `{"file_path":"\n {A}/agent-other/x\t"}`, "", cross},
		{"URI", "Read", `{"file_path":"file://{A}/agent-other/x"}`, "", cross},
		{"URI with host and case", "Read", `{"file_path":"FILE://localhost{A}/agent-other/x"}`, "", cross},
		{"URI without slashes", "Read", `{"uri":"file:{A}/agent-other/x"}`, "", cross},
		{"URI, encoded", "Read", `{"file_path":"file://{H}/%2eletta/agents/agent%2Dother/x"}`, "", cross},
		{"URI that cannot be decoded", "Read", `{"file_path":"file:///tmp/%zz"}`, "", nowhere},
		{"URI for WebFetch", "WebFetch", `{"url":"file://{A}/agent-other/x"}`, "", cross},
		{"URL for WebFetch", "WebFetch", `{"url":"https://example.com{A}/agent-other/x"}`, "", inside},

		{"glob from the home directory", "Glob", `{"pattern":"**/*.md"}`, "{H}", cross},
		{"glob from above the trees", "Glob", `{"pattern":"**/*.md"}`, "{H}/.letta", cross},
		{"glob in the project", "Glob", `{"pattern":"**/*.md"}`, "", inside},
		{"glob below the home directory", "Glob", `{"pattern":"proj/**/*.md"}`, "{H}", inside},
		{"glob with a wildcard before the tree", "Glob", `{"pattern":"{H}/*/agents/**"}`, "", cross},
		{"glob with a class", "Glob", `{"pattern":"{H}/.letta/[a]gents/**"}`, "", cross},
		{"glob of the own", "Glob", `{"pattern":"{A}/agent-self/**"}`, "{H}", inside},
		{"glob up", "Glob", `{"pattern":"../**"}`, "", cross},
		{"glob up, dot names", "Glob", `{"pattern":"../.*/**"}`, "", cross},
		{"glob up after a wildcard", "Glob", `{"pattern":"*/../../.letta/**"}`, "", cross},
		{"glob where a wildcard is two dots", "Glob", `{"pattern":".*/.letta/**"}`, "", cross},
		{"glob with braces", "Glob", `{"pattern":"{src,{A}/agent-other}/*.md"}`, "", cross},
		{"glob with braces up", "Glob", `{"pattern":"{src,..}/**"}`, "", cross},
		{"glob with braces in the project", "Glob", `{"pattern":"{src,lib}/**/*.{md,txt}"}`, "", inside},
		{"glob with parentheses in a name", "Glob", `{"pattern":"app/(site)/[lang]/*.tsx"}`, "", inside},
		{"glob with an alternative that is no extended one", "Glob", `{"pattern":"(src|..)/**"}`, "", cross},
		{"glob with two dots in parentheses", "Glob", `{"pattern":"(..)/**"}`, "", cross},
		{"glob with an alternative", "Glob", `{"pattern":"@(src|..)/**"}`, "", cross},
		{"glob with an escape", "Glob", `{"pattern":"{H}/\\.letta/agents/**"}`, "", cross},
		{"glob in a path", "Glob", `{"path":"{A}","pattern":"agent-self/**"}`, "", cross},
		{"glob relative to a path", "glob_gemini", `{"dir_path":"src","pattern":"../../.letta/**"}`, "", cross},

		{"grep from the tree", "Grep", `{"pattern":"secret"}`, "{A}", cross},
		{"grep from above", "Grep", `{"pattern":"secret"}`, "{H}", cross},
		{"grep for a path", "Grep", `{"pattern":"{A}/agent-other"}`, "", inside},
		{"grep for dots", "Grep", `{"pattern":"../.."}`, "", inside},
		{"grep below a link", "Grep", `{"pattern":"x","path":"src"}`, "", inside},
		{"grep with a filter", "Grep", `{"pattern":"x","path":"src","glob":"{A}/**"}`, "", inside},
		{"grep with a filter of another name", "search_file_content", `{"pattern":"x","include":"../**"}`, "", inside},
		{"list from the tree", "ListDir", `{}`, "{A}", cross},
		{"list", "LS", `{"path":"."}`, "", inside},
		{"list with an empty path", "LS", `{"path":""}`, "{A}", cross},

		{"many files", "read_many_files", `{"include":["src/*","{A}/agent-other/*"]}`, "", cross},
		{"many files by another name", "read_many_files", `{"file_paths":["{H}/.letta/a*/agent-other/**"]}`, "", cross},
		{"list with a wildcard", "list_dir", `{"path":"{H}/.lett?/agents"}`, "", cross},
		{"a name with brackets", "Read", `{"file_path":"src/[id]/page.tsx"}`, "", inside},
		{"list below a name with brackets", "LS", `{"path":"src/[id]"}`, "", inside},
		{"many paths", "read_many_files", `{"paths":["notes.md","../.letta/**"]}`, "", cross},
		{"many files of the project", "read_many_files", `{"paths":["notes.md","src/**"]}`, "", inside},
		{"second path", "Read", `{"file_path":"notes.md","path":"{A}/agent-other/x"}`, "", cross},
		{"name given twice", "Read", `{"file_path":"{A}/agent-other/x","file_path":"notes.md"}`, "", cross},
		{"name in another case", "Read", `{"FilePath":"{A}/agent-other/x"}`, "", cross},
		{"edits", "MultiEdit", `{"file_path":"notes.md","edits":[{"file_path":"{A}/agent-other/x","old_string":"a"}]}`, "", cross},
		{"edits as text", "MultiEdit", `{"file_path":"notes.md","edits":"[{\"file_path\":\"{A}/agent-other/x\"}]"}`, "", cross},
		{"content is data", "Write", `{"file_path":"notes.md","content":"{\"path\":\"{A}/agent-other/x\"}"}`, "", inside},
		{"image", "view_image", `{"path":"{A}/agent-other/x.png"}`, "", cross},
		{"image path", "ViewImage", `{"image_path":"{A}/agent-other/x.png"}`, "", cross},
		{"unknown tool", "mcp__fs__read", `{"what":{"at":["{A}/agent-other/x"]}}`, "", cross},
		{"unknown tool, paths", "mcp__fs__read", `{"paths":["dir/x.md"]}`, "", cross},
		{"unknown tool above the trees", "mcp__fs__tree", `{"path":"{H}/.letta"}`, "", "ask " + guard.Unknown},
		{"move of what holds the trees", "move_file", `{"source":"{H}/.letta","destination":"/tmp/x"}`, "", cross},
		{"move of a link's target", "move_file", `{"source":"dir/x.md","destination":"x.md"}`, "", cross},
		{"move by other names", "rename_file", `{"old_name":"notes.md","new_name":"dir/x.md"}`, "", cross},
		{"move in the project", "move_file", `{"source":"notes.md","destination":"src/notes.md","overwrite":true}`, "", inside},
		{"an edit from a text to another", "str_replace", `{"path":"notes.md","from":"dir/x.md","to":"x"}`, "", inside},
		{"unknown tool, dots within", "mcp__fs__read", `{"p":"src/../../.letta/agents/agent-other/x"}`, "", cross},
		{"unknown tool, dots in a text", "mcp__chat__send", `{"message":"see src/../../.letta/agents\nand more"}`, "", inside},
		{"a byte order mark", "Read", `{"file_path":"\ufeff{A}/agent-other/x"}`, "", cross},
		{"unknown tool, names as keys", "push", `{"files":{"{A}/agent-other/x":"text"}}`, "", cross},
		{"unknown tool, link", "mcp__fs__read", `{"target":"./dir/x.md"}`, "", cross},
		{"unknown tool, pattern", "mcp__fs__find", `{"pattern":"{H}/.letta/*/agent-other/*"}`, "", cross},
		{"a tool that is about no file", "TodoWrite", `{"todos":[{"content":"/login redirects"}]}`, "", inside},
		{"and says where another agent is", "Task", `{"prompt":"{A}/agent-other is another agent","subagent_type":"x"}`, "", inside},
		{"and its address", "WebFetch", `{"url":"/x","prompt":"~ and .."}`, "", inside},
		{"but has a path", "Task", `{"file_path":"{A}/agent-other/x"}`, "", cross},
		{"but has the address of a file", "web_fetch", `{"url":"file://{A}/agent-other/x"}`, "", cross},
		{"unknown tool without paths", "TodoWrite", `{"todos":[{"content":"write / read"}]}`, "", inside},

		{"patch", "apply_patch", `{"input":"*** Begin Patch\n*** Update File: {A}/agent-other/x\n*** End Patch"}`, "", cross},
		{"patch that moves", "ApplyPatch", `{"input":"*** Begin Patch\n*** Update File: notes.md\n*** Move to: {A}/agent-other/x\n"}`, "", cross},
		{"patch in another argument", "memory_apply_patch", `{"patch":"  *** Delete File:{A}/agent-other/x\r\n"}`, "", cross},
		{"patch of an unknown tool", "patcher", `{"diff":["*** Add File: {A}/agent-other/x"]}`, "", cross},
		{"patch in a working directory", "apply_patch", `{"workdir":"{A}","patch":"*** Add File: agent-other/x"}`, "", cross},
		{"write in a working directory", "Write", `{"cwd":"~/.letta","file_path":"agents/agent-other/x"}`, "", cross},
		{"write from a working directory above", "Write", `{"cwd":"{H}","file_path":"proj/x"}`, "", inside},
		{"patch as a diff", "apply_patch", `{"input":"--- a/notes.md\n+++ {A}/agent-other/x\n@@ -1 +1 @@\n"}`, "", cross},
		{"patch as a diff of git's", "apply_diff", `{"diff":"rename from notes.md\nrename to dir/x.md\n"}`, "", cross},
		{"patch of either form", "apply_diff", `{"diff":"*** Update File: notes.md\n--- a/x\n+++ {A}/agent-other/x\n"}`, "", cross},
		{"patch with a quoted name", "apply_diff", `{"diff":"--- a/x\n+++ \"{A}/agent-\\157ther/x\"\n"}`, "", cross},
		{"patch without text", "apply_diff", `{"diff":"diff --git a/x.md b/dir/x.md\nold mode 100644\nnew mode 100755\n"}`, "", cross},
		{"patch of what is binary", "apply_patch", `{"patch":"--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/dir/x b b/dir/x b\nGIT binary patch\n"}`, "", cross},
		{"patch with a quoted name of what is binary", "apply_patch", `{"patch":"diff --git \"a/dir/\\157\" \"b/dir/\\157\"\nGIT binary patch\n"}`, "", cross},
		{"patch that names no file", "apply_patch", `{"input":"*** Begin Patch\n*** Update File {A}/agent-other/x\n"}`, "", "ask " + guard.Unknown},
		{"patch that takes away a line", "apply_patch", `{"input":"*** Update File: notes.md\n--- ../.letta/agents/agent-other\n"}`, "", inside},
		{"patch of the project", "apply_patch", `{"input":"*** Begin Patch\n*** Add File: src/a.go\n+{A}/agent-other\n"}`, "", inside},
		{"patch as content", "Write", `{"file_path":"notes.md","content":"*** Add File: {A}/agent-other/x"}`, "", inside},

		{"shell", "Bash", `{"command":"cat {A}/agent-other/x"}`, "", "allow " + guard.NotJudged},
		{"no object", "Read", `["{H}"]`, "", nowhere},
		{"no JSON", "Read", `{"file_path":`, "", nowhere},
		{"relative working directory", "Read", `{"file_path":"x"}`, "proj", nowhere},
	})
}

// What would take longer than a harness waits is denied at once.
func TestTooMuch(t *testing.T) {
	h := home(t)
	g := crossAgent(t, h, nil)
	many := func(n int) string { return `["x` + strings.Repeat(`","x`, n-1) + `"]` }
	for _, c := range []struct{ name, tool, input string }{
		{"patch", "apply_patch", `{"input":"` + strings.Repeat(`*** Add File: a\n`, 200_000) + `"}`},
		{"diff", "apply_patch", `{"input":"` + strings.Repeat(`diff --git a/x b/x\n`, 200_000) + `"}`},
		{"patterns", "Glob", `{"path":` + many(200) + `,"pattern":` + many(200) + `}`},
		{"alternatives", "Glob", `{"pattern":["` + strings.Repeat(`{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}","`, 4000) + `"]}`},
		{"directories", "Read", `{"cwd":["1","2","3","4","5","6","7","8","9"],"paths":` + many(4000) + `}`},
	} {
		start := time.Now()
		got := g.Judge(guard.Call{Tool: c.tool, Input: []byte(c.input), Cwd: h})
		if took := time.Since(start); got.Decision != verdict.Deny || got.Code != guard.Unresolvable || took > 5*time.Second {
			t.Errorf("%s: %v %s after %v, want %s", c.name, got.Decision, got.Code, took, nowhere)
		}
	}
}

// A subagent works on its parent's memory, and a role acts for its agent.
func TestParent(t *testing.T) {
	h := home(t)
	read := []row{{"parent", "Write", `{"file_path":"{A}/agent-other/memory/x.md"}`, "", inside}}
	run(t, crossAgent(t, h, map[string]string{"LETTA_CODE_AGENT_ROLE": "subagent", "LETTA_PARENT_AGENT_ID": "agent-other~reflection"}), h, read)
	read[0].want = cross
	run(t, crossAgent(t, h, map[string]string{"LETTA_PARENT_AGENT_ID": "agent-other"}), h, read)
}

// closed is a host where one directory cannot be searched.
type closed struct{ hostfs.FS }

func (c closed) Lstat(name string) (policy.Info, error) {
	if strings.Contains(name, "/closed/") {
		return policy.Info{}, &fs.PathError{Op: "lstat", Path: name, Err: syscall.EACCES}
	}
	return c.FS.Lstat(name)
}

// What the kernel refuses has a code of its own: no policy is the reason.
func TestKernelRefuses(t *testing.T) {
	h := home(t)
	mkdir(t, h+"/proj/closed")
	g := crossAgent(t, h, nil)
	g.FS = closed{}
	run(t, g, h, []row{{"closed", "Read", `{"file_path":"closed/a"}`, "", "deny " + guard.KernelDenied}})
}

func TestHardLinkIsWarnedOf(t *testing.T) {
	h := home(t)
	g := crossAgent(t, h, nil)
	for name, want := range map[string]int{"hard.md": 1, "notes.md": 0, "dir/x.md": 0} {
		r := g.Judge(guard.Call{Tool: "Read", Input: []byte(`{"file_path":"` + name + `"}`), Cwd: h + "/proj"})
		if len(r.Warnings) != want {
			t.Errorf("%s: warnings %q, want %d", name, r.Warnings, want)
		}
	}
}

// Workspace isolation, and any other policy, are the same rule.
func TestPolicies(t *testing.T) {
	h := scratch(t)
	mkdir(t, h+"/iso/run-a/sub", h+"/iso/run-b", h+"/ro")
	if err := os.Symlink(h+"/iso/run-a", h+"/to-a"); err != nil {
		t.Fatal(err)
	}
	g := &guard.Guard{FS: hostfs.FS{}, Home: h}
	add(t, g, policy.Policy{Denied: []string{h + "/iso"}, Writable: []string{h + "/iso/run-a"}, ReadOnly: []string{h + "/iso/run-a/sub"}, RestrictWrites: true})
	const ro = "deny " + guard.ReadOnly
	run(t, g, h, []row{
		{"write peer", "Write", `{"file_path":"{H}/iso/run-b/x"}`, "{H}/iso/run-a", "deny " + guard.Denied},
		{"write own", "Write", `{"file_path":"x"}`, "{H}/iso/run-a", inside},
		{"write elsewhere", "Write", `{"file_path":"/tmp/x"}`, "{H}/iso/run-a", ro},
		{"write where it may only read", "Edit", `{"file_path":"sub/x"}`, "{H}/iso/run-a", ro},
		{"read where it may only read", "Read", `{"file_path":"sub/x"}`, "{H}/iso/run-a", inside},
		{"write through a link", "Write", `{"file_path":"{H}/to-a/x"}`, "{H}/iso/run-a", inside},
		{"write through a link to what is read-only", "Write", `{"file_path":"{H}/to-a/sub/x"}`, "{H}/iso/run-a", ro},
		{"read elsewhere", "Read", `{"file_path":"/etc/hosts"}`, "{H}/iso/run-a", inside},
		{"glob from the isolation root", "Glob", `{"pattern":"*"}`, "{H}/iso", "deny " + guard.Denied},
		{"glob from above it", "Glob", `{"pattern":"**"}`, "{H}", "deny " + guard.Beneath},
		{"glob of a peer", "Glob", `{"pattern":"../run-b/**"}`, "{H}/iso/run-a", "deny " + guard.Denied},
		{"glob of a peer, absolute", "Glob", `{"pattern":"{H}/iso/run-b/*"}`, "{H}/iso/run-a", "deny " + guard.Denied},
		{"notebook of a peer", "NotebookEdit", `{"notebook_path":"../run-b/x.ipynb"}`, "{H}/iso/run-a", "deny " + guard.Denied},
		{"notebook elsewhere", "NotebookEdit", `{"notebook_path":"/tmp/x.ipynb"}`, "{H}/iso/run-a", ro},
		{"patch of a peer", "memory_apply_patch", `{"input":"*** Add File: ../run-b/x"}`, "{H}/iso/run-a", "deny " + guard.Denied},
		{"patch elsewhere", "memory_apply_patch", `{"input":"*** Add File: /tmp/x"}`, "{H}/iso/run-a", ro},
		{"unknown tool elsewhere", "mcp__fs__touch", `{"path":"/tmp/x"}`, "{H}/iso/run-a", "ask " + guard.Unknown},
		{"write of what holds a read-only root", "delete_file", `{"path":"."}`, "{H}/iso/run-a", "deny " + guard.Beneath},
		{"unknown tool at a peer", "mcp__fs__touch", `{"path":"../run-b/x"}`, "{H}/iso/run-a", "deny " + guard.Denied},
	})
}
