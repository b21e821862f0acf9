package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestPlantedImpliedRoots: a directory that is a root without being listed as one
// (TMPDIR, a cache, the directory of --chdir) becomes a link in one run. The next
// run must not take for its root what that leads to.
func TestPlantedImpliedRoots(t *testing.T) {
	workspace := flags{"--mode", "workspace-write"}
	for name, c := range map[string]struct {
		planting, next flags
		link           string // what is replaced
		tmpdir         string // of the next run
		what           string // it says what it refuses
	}{
		"TMPDIR": {workspace, workspace, "work/t", "work/t", "TMPDIR"},
		"TMPDIR, for the folder in it": {
			workspace, append(flags{"--tmp", "private"}, workspace...), "work/t", "work/t", "TMPDIR",
		},
		"a cache":                          {flags{"--caches", "host"}, flags{"--caches", "host"}, "home/.cache/pip", "tmp", "--caches host: PIP_CACHE_DIR"},
		"--chdir":                          {workspace, append(flags{"--chdir", "t"}, workspace...), "work/t", "tmp", "--chdir"},
		"--chdir, and the workspace's own": {workspace, flags{"--restrict-writes", "--caches", "private", "--chdir", "t"}, "work/t", "tmp", "--chdir"},
		"--chdir below an isolation root":  {workspace, flags{"--profile", "workspace", "--isolation-root", "TREE", "--chdir", "t"}, "work/t", "tmp", "--chdir"},
		"--chdir, and its .env":            {workspace, flags{"--restrict-writes", "--credential", "IMPLIED=IMPLIED_TEST", "--chdir", "t"}, "work/t", "tmp", "--chdir"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				tr := testenv.NewTree(t, b.user)
				for _, dir := range []string{c.link, "tmp", "out/private"} {
					tr.Mkdir(dir)
				}
				tr.Write("out/private/.env", "IMPLIED_TEST=foreign\n")
				tr.Write(c.link+"/.env", "IMPLIED_TEST=own\n")
				run := func(f flags, tmpdir, script string, free bool) testenv.Result {
					t.Helper()
					argv := []string{"/bin/sh", "-c", script, "sh", tr.Path(c.link), tr.Path("out/private")}
					line := b.command(t, tr, append(flags{"--quiet"}, replaced(f, "TREE", tr.Path("."))...), argv...)
					if free {
						line.Argv = argv
					}
					line.Env = []string{"TMPDIR=" + tr.Path(tmpdir)}
					return line.Run(t)
				}
				write := `echo x >"$2/written"`
				if res := run(c.next, c.tmpdir, "true", false); res.Status != 0 {
					t.Fatalf("before a link is planted: %+v", res)
				}
				plant := `rm -r "$1" && ln -s "$2" "$1"`
				if res := run(c.planting, "tmp", plant+" && "+write, false); res.Status != 2 || !strings.Contains(res.Stderr, b.refusedWrite()) {
					t.Errorf("planting the link, and a write to what it leads to = %+v, want %q", res, b.refusedWrite())
				}
				if to, err := os.Readlink(tr.Path(c.link)); err != nil || to != tr.Path("out/private") {
					t.Fatalf("the link is %q, %v", to, err)
				}
				res := run(c.next, c.tmpdir, write+`; echo "$IMPLIED"`, false)
				want := "letta-confine: error: " + c.what + " "
				if res.Status != 125 || !strings.HasPrefix(res.Stderr, want) || !strings.Contains(res.Stderr, "a symlink that the command could have planted") || res.Stdout != "" {
					t.Errorf("the next run = %+v, want 125 and %q", res, want)
				}
				if tr.Exists("out/private/written") || len(list(t, tr.Path("out/private"))) != 1 {
					t.Errorf("in what the link leads to there is %q, want nothing new", list(t, tr.Path("out/private")))
				}
				if res := run(nil, "tmp", write, true); res.Status != 0 || !tr.Exists("out/private/written") {
					t.Errorf("control: %+v, want the file written", res)
				}
			})
		})
	}
}

// TestWorkingDirectoryByALink: the kernel says where the launcher was started, and
// not by way of which link. That is the caller's to look at.
func TestWorkingDirectoryByALink(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.Mkdir("out/private")
		tr.Link("../out/private", "work/t")
		c := b.command(t, tr, flags{"--mode", "workspace-write"}, "/bin/sh", "-c", "echo x >written")
		c.Env = []string{"TMPDIR=" + tr.Path("work")}
		c.Dir = tr.Path("work/t")
		if res := c.Run(t); res.Status != 0 || !tr.Exists("out/private/written") {
			t.Errorf("started in a link: %+v, want the limit", res)
		}
	})
}

// refusedWrite is how a write outside what is writable fails.
func (b box) refusedWrite() string {
	if b.backend == "landlock" {
		return "Permission denied"
	}
	return "Read-only file system"
}

func replaced(f flags, old, text string) (list flags) {
	for _, word := range f {
		if word == old {
			word = text
		}
		list = append(list, word)
	}
	return list
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
