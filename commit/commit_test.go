//go:build unix

package commit

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/secrets"
	"github.com/letta-confine/letta-confine/verdict"
)

// repo is a repository on disk with one commit of a few memory files.
type repo struct {
	t   *testing.T
	dir string
}

const (
	plain  = "---\ndescription: about\n---\ntext\n"
	locked = "---\ndescription: about\nread_only: true\n---\ntext that is long enough to be found again\n"
)

func newRepo(t *testing.T) *repo {
	t.Helper()
	r := &repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func seeded(t *testing.T) *repo {
	r := newRepo(t)
	r.write("system/ro.md", locked)
	r.write("system/rw.md", plain)
	r.write("system/no.md", "---\ndescription: about\nread_only: false\n---\ntext\n")
	r.write("notes.md", "no frontmatter\n")
	r.write("system/sub/kept.md", plain)
	r.write("core/identity.md", "who\n")
	r.write(".memfs.config.json", `{"version":1,"readOnlyFiles":["core/identity.md","laws/","drafts/**/final-*.md"]}`)
	r.write("laws/one.txt", "one\n")
	r.write("drafts/a/b/final-1.md", "one\n")
	r.git("add", "-A")
	r.git("commit", "-qm", "first", "--no-verify")
	return r
}

func (r *repo) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func (r *repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) remove(name string) {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) rename(from, to string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(r.dir, to)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(r.dir, from), filepath.Join(r.dir, to)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) link(target, name string) {
	r.t.Helper()
	if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

// judge stages everything, and returns the answer and the codes.
func (r *repo) judge(approved bool) (verdict.Decision, []string) {
	r.t.Helper()
	r.git("add", "-A")
	found, err := Judge(Repo{Dir: r.dir}, secrets.New(), approved)
	if err != nil {
		r.t.Fatal(err)
	}
	d, codes := verdict.Allow, []string{}
	for _, f := range found {
		if strings.Contains(f.Path+f.Reason+f.Rule, key) {
			r.t.Errorf("%+v holds the secret", f)
		}
		d = max(d, f.Decision)
		codes = append(codes, f.Code)
	}
	slices.Sort(codes)
	return d, slices.Compact(codes)
}

var key = "sk-" + strings.Repeat("a1B2", 6)

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(r *repo)
		code string // "" where it may be committed
	}{
		"nothing":                {func(*repo) {}, ""},
		"edit":                   {func(r *repo) { r.write("system/rw.md", plain+"more\n") }, ""},
		"new file":               {func(r *repo) { r.write("system/new.md", plain) }, ""},
		"delete":                 {func(r *repo) { r.remove("system/rw.md") }, ""},
		"rename":                 {func(r *repo) { r.rename("system/rw.md", "system/w.md") }, ""},
		"rename with read_only":  {func(r *repo) { r.rename("system/no.md", "system/n.md") }, ""},
		"name not ASCII":         {func(r *repo) { r.write("system/größe/世界.md", plain) }, ""},
		"no frontmatter on top":  {func(r *repo) { r.write("new.md", "text\n") }, ""},
		"text file":              {func(r *repo) { r.write("system/new.txt", "text\n") }, ""},
		"blank in another name":  {func(r *repo) { r.write("new file.md", "text\n") }, ""},
		"skill":                  {func(r *repo) { r.write("skills/foo/SKILL.md", "---\nname: foo\n---\n") }, ""},
		"limit":                  {func(r *repo) { r.write("system/new.md", "---\ndescription: a\nlimit: 5\n---\n") }, ""},
		"continuation":           {func(r *repo) { r.write("system/rw.md", "---\ndescription: a\n  read_only: true\n---\n") }, ""},
		"block description":      {func(r *repo) { r.write("system/new.md", "---\ndescription: |\n\n  a\n---\n") }, ""},
		"placeholder":            {func(r *repo) { r.write("notes.md", "sk-"+strings.Repeat("x", 30)+"\n") }, ""},
		"empty file":             {func(r *repo) { r.write("empty", "") }, ""},
		"delete read_only":       {func(r *repo) { r.remove("system/ro.md") }, "read-only"},
		"delete its directory":   {func(r *repo) { r.remove("system"); r.write("system", "a file\n") }, "read-only"},
		"edit read_only":         {func(r *repo) { r.write("system/ro.md", locked+"more\n") }, "read-only"},
		"rename read_only":       {func(r *repo) { r.rename("system/ro.md", "system/o.md") }, "read-only"},
		"rename it out":          {func(r *repo) { r.rename("system/ro.md", "archive/ro.txt") }, "read-only"},
		"rename and edit it":     {func(r *repo) { r.rename("system/ro.md", "o.md"); r.write("o.md", locked+"more\n") }, "read-only"},
		"rewrite it elsewhere":   {func(r *repo) { r.rename("system/ro.md", "o.md"); r.write("o.md", "x\n") }, "read-only"},
		"rename over it":         {func(r *repo) { r.rename("system/rw.md", "system/ro.md") }, "read-only"},
		"link in its place":      {func(r *repo) { r.remove("system/ro.md"); r.link("rw.md", "system/ro.md") }, "not-a-file"},
		"make it executable":     {func(r *repo) { os.Chmod(filepath.Join(r.dir, "system/ro.md"), 0o755) }, "read-only"},
		"copy it":                {func(r *repo) { r.write("system/copy.md", locked) }, "frontmatter"},
		"link":                   {func(r *repo) { r.link("/etc/passwd", "system/l.md") }, "not-a-file"},
		"link on top":            {func(r *repo) { r.link("notes.md", "l") }, "not-a-file"},
		"no frontmatter":         {func(r *repo) { r.write("system/new.md", "text\n") }, "frontmatter"},
		"in reference":           {func(r *repo) { r.write("reference/a/new.md", "text\n") }, "frontmatter"},
		"below memory":           {func(r *repo) { r.write("memory/system/new.md", "text\n") }, "frontmatter"},
		"not ASCII":              {func(r *repo) { r.write("system/é.md", "text\n") }, "frontmatter"},
		"renamed in":             {func(r *repo) { r.rename("notes.md", "system/notes.md") }, "frontmatter"},
		"other case":             {func(r *repo) { r.write("System/new.MD", "text\n") }, "frontmatter"},
		"blank in the name":      {func(r *repo) { r.write("system/a b.md", plain) }, "file-name"},
		"newline in the name":    {func(r *repo) { r.write("system/a\nb.md", plain) }, "file-name"},
		"not closed":             {func(r *repo) { r.write("system/new.md", "---\ndescription: a\n") }, "frontmatter"},
		"unknown key":            {func(r *repo) { r.write("system/new.md", "---\ndescription: a\ncolour: red\n---\n") }, "frontmatter"},
		"quoted key":             {func(r *repo) { r.write("system/rw.md", "---\ndescription: a\n\"read_only\": true\n---\n") }, "frontmatter"},
		"no description":         {func(r *repo) { r.write("system/new.md", "---\nlimit: 1\n---\n") }, "frontmatter"},
		"empty description":      {func(r *repo) { r.write("system/new.md", "---\ndescription: \n---\n") }, "frontmatter"},
		"quoted empty":           {func(r *repo) { r.write("system/new.md", "---\ndescription: \"\"\n---\n") }, "frontmatter"},
		"empty block":            {func(r *repo) { r.write("system/new.md", "---\ndescription: |\nlimit: 1\n---\n") }, "frontmatter"},
		"new read_only":          {func(r *repo) { r.write("system/new.md", locked) }, "frontmatter"},
		"add read_only":          {func(r *repo) { r.write("system/rw.md", locked) }, "frontmatter"},
		"change read_only":       {func(r *repo) { r.write("system/no.md", locked) }, "frontmatter"},
		"remove read_only":       {func(r *repo) { r.write("system/no.md", plain) }, "frontmatter"},
		"read_only by CR":        {func(r *repo) { r.write("system/rw.md", "---\ndescription: a\rread_only: true\n---\n") }, "frontmatter"},
		"CRLF":                   {func(r *repo) { r.write("system/new.md", strings.ReplaceAll(plain, "\n", "\r\n")) }, "frontmatter"},
		"flat skill":             {func(r *repo) { r.write("skills/foo.md", plain) }, "skill-path"},
		"flat skill by rename":   {func(r *repo) { r.rename("notes.md", "memory/skills/foo.md") }, "skill-path"},
		"key":                    {func(r *repo) { r.write("system/rw.md", plain+key+"\n") }, "secret"},
		"private key":            {func(r *repo) { r.write("system/rw.md", plain+"-----BEGIN OPENSSH "+"PRIVATE KEY-----\n") }, "secret"},
		"key in a text file":     {func(r *repo) { r.write("x.txt", key) }, "secret"},
		"key in a binary":        {func(r *repo) { r.write("x.bin", "\x00\x01"+key); r.write(".gitattributes", "* -diff binary\n") }, "secret"},
		"key by rename and edit": {func(r *repo) { r.rename("system/rw.md", "o.md"); r.write("o.md", plain+key) }, "secret"},
		"key as a memory's name": {func(r *repo) { r.write("system/"+key+".md", "x") }, "frontmatter"},
		"key as a name":          {func(r *repo) { r.write(key+".txt", "x") }, "secret"},
		"configuration":          {func(r *repo) { r.write(configName, `{"version":1}`) }, "config"},
		"configuration deleted":  {func(r *repo) { r.remove(configName) }, "config"},
		"configuration moved":    {func(r *repo) { r.rename(configName, "x.json") }, "config"},
		"configuration linked":   {func(r *repo) { r.remove(configName); r.link("notes.md", configName) }, "config"},
		"second configuration":   {func(r *repo) { r.write("memory/"+configName, `{}`) }, "config"},
		"in other letters":       {func(r *repo) { r.write(".MemFS.config.json", `{}`) }, "config"},
		"protected":              {func(r *repo) { r.write("core/identity.md", "me\n") }, "read-only-files"},
		"protected deleted":      {func(r *repo) { r.remove("core/identity.md") }, "read-only-files"},
		"protected moved":        {func(r *repo) { r.rename("core/identity.md", "i.md") }, "read-only-files"},
		"protected directory":    {func(r *repo) { r.write("laws/two.txt", "two\n") }, "read-only-files"},
		"protected by glob":      {func(r *repo) { r.write("drafts/x/y/final-2.md", "two\n") }, "read-only-files"},
		"beside the glob":        {func(r *repo) { r.write("drafts/x/y/other.md", "two\n") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := seeded(t)
			c.act(r)
			d, codes := r.judge(false)
			if c.code == "" && (d != verdict.Allow || len(codes) > 0) {
				t.Errorf("%v %q, want allow", d, codes)
			}
			if c.code != "" && (d != verdict.Deny || !slices.Contains(codes, c.code)) {
				t.Errorf("%v %q, want deny by %q", d, codes, c.code)
			}
		})
	}
}

// TestApproval: what a person can approve, and what not.
func TestApproval(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(r *repo)
		want verdict.Decision
	}{
		"configuration":  {func(r *repo) { r.write(configName, `{"version":1}`) }, verdict.Allow},
		"protected":      {func(r *repo) { r.remove("core/identity.md") }, verdict.Allow},
		"a guess":        {func(r *repo) { r.write("a", "api_key: a8f5f167f44f4964e6c998dee827110c") }, verdict.Allow},
		"not JSON":       {func(r *repo) { r.write(configName, `{"version":1`) }, verdict.Deny},
		"not version 1":  {func(r *repo) { r.write(configName, `{"version":2}`) }, verdict.Deny},
		"misspelt":       {func(r *repo) { r.write(configName, `{"readonlyfiles":[]}`) }, verdict.Deny},
		"read_only file": {func(r *repo) { r.remove("system/ro.md") }, verdict.Deny},
		"secret":         {func(r *repo) { r.write("a", key) }, verdict.Deny},
		"link":           {func(r *repo) { r.link("/etc", "a") }, verdict.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := seeded(t)
			c.act(r)
			if d, codes := r.judge(true); d != c.want {
				t.Errorf("approved: %v %q, want %v", d, codes, c.want)
			}
			if d, codes := r.judge(false); d == verdict.Allow {
				t.Errorf("not approved: %v %q", d, codes)
			}
		})
	}
}

// TestFirstCommit: there is no HEAD yet.
func TestFirstCommit(t *testing.T) {
	r := newRepo(t)
	r.write("system/a.md", plain)
	if d, codes := r.judge(false); d != verdict.Allow {
		t.Errorf("%v %q, want allow", d, codes)
	}
	r.write("system/b.md", "text")
	if d, codes := r.judge(false); d != verdict.Deny {
		t.Errorf("%v %q, want deny", d, codes)
	}
}

// TestOldSecrets: lines that are there already are not judged again, and keep
// their numbers for those that are.
func TestOldSecrets(t *testing.T) {
	r := newRepo(t)
	r.write("a", "one\n"+key+"\n")
	r.git("add", "-A")
	r.git("commit", "-qm", "first")
	r.write("a", "zero\none\n"+key+"\ntwo\n")
	if d, codes := r.judge(false); d != verdict.Allow {
		t.Errorf("%v %q, want allow", d, codes)
	}
	r.write("a", "zero\none\n"+key+"\n  "+key+"X\n")
	r.git("add", "-A")
	found, err := Judge(Repo{Dir: r.dir}, secrets.New(), false)
	if err != nil || len(found) != 1 || found[0].Line != 4 || found[0].Column != 3 {
		t.Errorf("%+v, %v, want one in 4:3", found, err)
	}
}

// TestNewValueOfAnOldName: a value in a line of its own is judged with the name before
// it, which is there already, and the secret in the line of the name is not.
func TestNewValueOfAnOldName(t *testing.T) {
	r := newRepo(t)
	r.write("a", "token: "+key+"\ntoken:\n  oldValue1234567890AbC\nx\n")
	r.git("add", "-A")
	r.git("commit", "-qm", "first")
	for text, want := range map[string]int{
		"token: " + key + "\ntoken:\n  newValue9876543210XyZ7q\nx\n":          2,
		"token: " + key + "\nnew\ntoken:\n  oldValue1234567890AbC\nnew too\n": 0,
	} {
		r.write("a", text)
		r.git("add", "-A")
		found, err := Judge(Repo{Dir: r.dir}, secrets.New(), false)
		if err != nil || (want == 0) != (len(found) == 0) || want > 0 && found[0].Line != want {
			t.Errorf("%q: %+v, %v, want line %d", text, found, err, want)
		}
	}
}

// TestRunsNothing: the repository's configuration and the caller's environment
// name programs, and hide changes; none is run and nothing is hidden. The control
// shows that git itself runs them.
func TestRunsNothing(t *testing.T) {
	r := seeded(t)
	ran := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(r.dir, "evil.sh")
	r.write("evil.sh", "#!/bin/sh\ntouch '"+ran+"'\n")
	if err := os.Chmod(evil, 0o755); err != nil {
		t.Fatal(err)
	}
	r.write(".gitattributes", "* diff=evil filter=evil\n")
	r.write("system/rw.md", plain+"more\n")
	r.git("add", "-A")
	for _, set := range [][2]string{
		{"core.fsmonitor", evil},
		{"diff.external", evil},
		{"diff.evil.textconv", evil},
		{"diff.evil.command", evil},
		{"core.pager", evil},
		{"filter.evil.clean", evil},
		{"filter.evil.smudge", evil},
		{"core.hooksPath", r.dir},
		{"diff.relative", "true"},
		{"diff.orderFile", "none"},
		{"diff.renames", "copies"},
		{"diff.noprefix", "true"},
		{"core.sshCommand", evil},
		{"diff.ignoreSubmodules", "all"},
		{"color.ui", "always"},
	} {
		r.git("config", set[0], set[1])
	}
	t.Setenv("GIT_EXTERNAL_DIFF", evil)
	t.Setenv("GIT_DIR", "/nonexistent")
	t.Setenv("GIT_INDEX_FILE", "/nonexistent")
	t.Setenv("GIT_CONFIG_PARAMETERS", "'core.pager'='"+evil+"'")
	t.Setenv("PATH", r.dir+":"+os.Getenv("PATH"))
	if err := os.Symlink(evil, filepath.Join(r.dir, "git")); err != nil {
		t.Fatal(err)
	}
	found, err := Judge(Repo{Dir: filepath.Join(r.dir, "system")}, secrets.New(), false)
	if err != nil || len(found) != 0 {
		t.Errorf("%+v, %v, want nothing", found, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Fatal("a program of the repository's ran")
	}
	control := exec.Command("/usr/bin/git", "diff", "HEAD")
	control.Dir, control.Env = r.dir, []string{"PATH=/usr/bin:/bin"}
	_ = control.Run()
	if _, err := os.Stat(ran); err != nil {
		t.Error("git runs no program of the repository's either: the test shows nothing")
	}
}

// TestReplacedObjects: git replace shows another file as the committed one.
func TestReplacedObjects(t *testing.T) {
	r := seeded(t)
	r.write("system/ro.md", locked+"more\n")
	r.git("add", "-A")
	r.git("replace", "HEAD:system/ro.md", "HEAD:system/rw.md")
	if d, codes := r.judge(false); d != verdict.Deny || !slices.Contains(codes, "read-only") {
		t.Errorf("%v %q, want deny", d, codes)
	}
}

// TestFails: where git fails there is no answer.
func TestFails(t *testing.T) {
	if found, err := Judge(Repo{Dir: t.TempDir()}, secrets.New(), false); err == nil {
		t.Errorf("outside a repository: %+v", found)
	}
	r := seeded(t)
	r.write("a", "text\n")
	r.git("add", "-A")
	if found, err := Judge(Repo{Dir: r.dir, Index: "none/index"}, secrets.New(), false); err == nil && len(found) == 0 {
		t.Error("without an index all is well")
	}
	r.remove(".git/objects")
	if found, err := Judge(Repo{Dir: r.dir}, secrets.New(), false); err == nil {
		t.Errorf("without objects: %+v", found)
	}
}

func TestParseRawRefuses(t *testing.T) {
	for _, out := range []string{"x\x00y\x00", ":1 2 3 4\x00y\x00", ":1 2 3 4 R100\x00y\x00", "\x00\x00"} {
		if list, err := parseRaw(out); err == nil {
			t.Errorf("%q gives %+v", out, list)
		}
	}
}
