package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestSettled05CarveOutThroughALink: a directory elsewhere that is a link into the
// denied tree carves nothing out, and a link in a place that can be written leads
// no root anywhere.
func TestSettled05CarveOutThroughALink(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.Link(tr.Path(bob+"/memory"), "out/memory")
		refused(t, b.run(t, tr, flags{"--deny", tr.Path(agents), "--writable", tr.Path("out/memory")}, "true"), "symlink", tr.Path(bob+"/memory"))
		tr.Link(tr.Path("out"), "work/link")
		for _, flag := range []string{"--deny", "--read-only", "--writable"} {
			refused(t, b.run(t, tr, append(workFlags(tr), flag, tr.Path("work/link")), "true"), "symlink", tr.Path("out"))
		}
		spelled := flags{"--deny", tr.Path(agents), "--writable", tr.Path(alice + "/../alice/memory")}
		if got := b.calls(t, tr, spelled, row{call: "append", paths: alice + "/memory/x.md"}); got[0] != "ok" {
			t.Errorf("writing to a carve-out without a link = %s, want ok", got[0])
		}
	})
}

// TestSettled06PinsAndDevices: what lies above a readonly root stays where it is,
// and a root in /dev does not bring the host's devices back.
func TestSettled06PinsAndDevices(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		got := b.calls(t, tr, flags{"--read-only", tr.Path("out/sub")}, row{call: "rename", paths: "out x"})
		if got[0] != pinned.errno(b.backend) {
			t.Errorf("renaming what lies above a readonly root = %s, want %s", got[0], pinned.errno(b.backend))
		}
		if b.user.UID != 0 {
			return // for whom the disk is out of reach anyway
		}
		disk := diskNode(t)
		rows := []row{{call: "open-read", paths: disk}, {call: "open-read", paths: "/dev/full"}, {call: "open-read", paths: "/dev/zero"}}
		want := map[string]string{"bwrap": "ENOENT EACCES ok", "landlock": "EACCES EACCES ok"}[b.backend]
		if got := strings.Join(b.calls(t, tr, flags{"--deny", "/dev/full"}, rows...), " "); got != want {
			t.Errorf("with a denied root in /dev the disk, the root and another device = %s, want %s", got, want)
		}
	})
}

// TestSettled07MissingRoots: missing denied and readonly roots are made and
// removed; a writable one is made only when asked for.
func TestSettled07MissingRoots(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		denied, fixed, open := tr.Path("work/denied"), tr.Path("work/fixed"), tr.Path("work/open")
		f := flags{"--deny", denied, "--read-only", fixed, "--writable", open}
		res, list := b.reported(t, tr, f, testenv.Helper(t), "calls", "create", denied+"/x", "create", fixed+"/x", "stat", open)
		if res.Stdout != "EROFS\nEROFS\nENOENT\n" {
			t.Errorf("creating in the missing roots and looking at the third = %+v", res)
		}
		slices.Sort(list[0].Created)
		if got := strings.Join(list[0].Created, " "); got != denied+" "+fixed || len(list[2].Created) != 0 {
			t.Errorf("created are %s, and at the end %v", got, list[2].Created)
		}
		for _, name := range []string{"denied", "fixed", "open"} {
			if tr.Exists("work/" + name) {
				t.Errorf("%s is there afterwards", name)
			}
		}
	})
}

// TestSettled08SystemRoots: what would undo the covers of the kernel's files is
// refused, and another list goes before the base.
func TestSettled08SystemRoots(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for _, path := range []string{"/dev", "/proc", "/proc/sys", "/sys", "/sys/kernel"} {
			for _, flag := range []string{"--base-writable", "--writable"} {
				if res := b.run(t, tr, flags{"--restrict-writes", flag, path}, "touch", "ran"); res.Status != 125 {
					t.Errorf("%s %s gave %+v, want 125", flag, path, res)
				}
			}
		}
		f := flags{"--restrict-writes", "--base-writable", tr.Path("work"), "--base-writable", tr.Path("out"), "--read-only", tr.Path("out")}
		got := b.calls(t, tr, f, row{call: "append", paths: "work/file.txt"}, row{call: "append", paths: "out/file.txt"})
		if got[0] != "ok" || got[1] != readOnly.errno(b.backend) {
			t.Errorf("writing by the base and in a root that is base and readonly = %q", got)
		}
		if res := b.run(t, tr, flags{"--deny", "/"}, "true"); res.Status != 125 {
			t.Errorf("--deny / gave %+v, want 125", res)
		}
	})
}

// TestSettled09JSON: a policy that a lenient reader would empty is refused.
func TestSettled09JSON(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		deny := `"deniedRoots":["` + tr.Path(agents) + `"]`
		for name, text := range map[string]string{
			"another case":   `{` + deny + `,"DeniedRoots":[]}`,
			"twice":          `{` + deny + `,"deniedRoots":[]}`,
			"null":           `{"deniedRoots":null}`,
			"invalid UTF-8":  "{\"deniedRoots\":[\"/\xff\"]}",
			"lone surrogate": `{"deniedRoots":["/\ud800"]}`,
			"glob":           `{"deniedRoots":["/home/*"]}`,
			"tilde":          `{"deniedRoots":["~/x"]}`,
			"variable":       `{"deniedRoots":["/home/$USER"]}`,
			"trailing":       `{` + deny + `} {}`,
		} {
			c := b.command(t, tr, flags{"--policy", "-"}, "touch", "ran")
			c.Stdin = strings.NewReader(text)
			if res := c.Run(t); res.Status != 125 || !strings.HasPrefix(res.Stderr, "letta-confine: error: policy \"-\": ") || tr.Exists("work/ran") {
				t.Errorf("%s: %+v, want a refusal", name, res)
			}
		}
		tr.Write("work/a*$x/secret", "secret") // in flags these are bytes like others
		if got := b.calls(t, tr, flags{"--deny", tr.Path("work/a*$x")}, row{call: "read", paths: "work/a*$x/secret"}); got[0] != hidden.errno(b.backend) {
			t.Errorf("reading below a denied root named by a flag = %s", got[0])
		}
	})
}

// TestSettled10TMPDIR: without a policy a temporary directory that would make
// everything writable is none.
func TestSettled10TMPDIR(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for _, dir := range []string{"/", tr.Home(), tr.Dir, tr.Path("out/file.txt"), tr.Path("missing"), "relative"} {
			c := b.command(t, tr, nil, "touch", "ran")
			c.Env = []string{"TMPDIR=" + dir}
			if res := c.Run(t); res.Status != 125 || !strings.Contains(res.Stderr, "TMPDIR") || tr.Exists("work/ran") {
				t.Errorf("TMPDIR=%s gave %+v, want a refusal", dir, res)
			}
		}
		c := b.command(t, tr, nil, testenv.Helper(t), "calls", "create", tr.Path("tmp/new"), "create", tr.Path("out/new"))
		c.Env = []string{"TMPDIR=" + tr.Path("tmp")}
		if res := c.Run(t); res.Stdout != "ok\n"+readOnly.errno(b.backend)+"\n" {
			t.Errorf("a directory of its own gave %+v", res)
		}
	})
}

// TestSettled21Siblings: more files beside the roots than may be granted one by
// one, and nothing is granted in part.
func TestSettled21Siblings(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for _, require := range []string{"any", "contents", "full"} {
			refused(t, b.run(t, tr, append(crossFlags(tr), "--max-siblings", "1", "--require", require), "touch", "ran"), "too many files beside the roots", "--max-siblings")
		}
		if tr.Exists("work/ran") {
			t.Error("the command ran")
		}
	})
}

// TestSettled22FirstWord: a word that is no subcommand is not taken for a command.
func TestSettled22FirstWord(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		if res := b.free(t, tr, testenv.Launcher(t), "touch", "ran"); res.Status != 125 || !strings.Contains(res.Stderr, `unknown subcommand "touch"`) {
			t.Errorf("a first word gave %+v, want 125", res)
		}
		if res := b.free(t, tr, testenv.Launcher(t), "--backend", b.backend, "touch", "ran"); res.Status != 125 || !strings.Contains(res.Stderr, "write -- before") {
			t.Errorf("a word after a flag gave %+v, want 125", res)
		}
		if tr.Exists("work/ran") {
			t.Error("the command ran")
		}
	})
}

// TestSettled24OverDenials: what bubblewrap refuses beyond the policy is listed,
// and is refused.
func TestSettled24OverDenials(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.Write("out/other.txt", "other")
		f := append(crossFlags(tr), "--deny", tr.Path("out/file.txt"), "--isolate-processes")
		res, list := b.reported(t, tr, f, testenv.Helper(t), "calls", "rename", tr.Path("out/other.txt"), tr.Path("out/file.txt"))
		if res.Stdout != pinnedRoot.errno(b.backend)+"\n" {
			t.Errorf("renaming onto a denied file = %+v, want %s", res, pinnedRoot.errno(b.backend))
		}
		all := strings.Join(list[0].OverDenials, "\n")
		for _, want := range []string{"private-dev", "devices", "pinned", "nested-user-namespaces", "processes"} {
			if !strings.Contains(all, want) {
				t.Errorf("over-denials are\n%s\nwant %s among them", all, want)
			}
		}
	})
}

// TestSettled08RootAsBase: "/" as base root is the default. It lists no place in
// which the launcher would lie.
func TestSettled08RootAsBase(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		f := flags{"--base-writable", "/", "--deny", tr.Path(agents)}
		res := b.run(t, tr, f, testenv.Helper(t), "calls", "append", tr.Path("work/file.txt"), "read", tr.Path(bob+"/memory/x.md"))
		if want := "ok\n" + hidden.errno(b.backend) + "\n"; res.Stdout != want {
			t.Errorf("with %q the run gave %+v, want %q", f[:2], res, want)
		}
	})
}
