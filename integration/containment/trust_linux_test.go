package containment

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestLauncherTrust: what the command's environment and directories hold does not
// act on the programs that confine it.
func TestLauncherTrust(t *testing.T) {
	run(t, false, "launcher trust", []attack{
		{name: "bwrap on the PATH", policy: work, do: hijack, want: everywhere(held("gone"))},
		{name: "LD_PRELOAD", policy: work, do: preload, want: everywhere(held("gone")), need: program("gcc")},
		{name: "launcher replaced", do: launcherReplaced, want: either(held("EXDEV EROFS"), residual("inputs", "ok ok"))},
		{name: "companion replaced", do: companionReplaced, want: either(held("EXDEV EROFS"), residual("inputs", "ok ok"))},
		{name: "companion a writable root", policy: companionWritable, do: companionReplaced, want: everywhere(held("refused"))},
		{name: "launcher in a writable root", policy: work, do: func(w world) string { return launcherAt(w, "work/launcher", "rename work/file.txt work/launcher") }, want: everywhere(held("refused"))},
		{
			name: "policy file replaced", policy: func(tr *testenv.Tree) flags { return flags{"--policy", tr.Path("out/policy.json")} },
			prepare: func(_ *testing.T, tr *testenv.Tree) {
				tr.Write("out/policy.json", `{"version": 1, "deniedRoots": ["`+tr.Path(agents)+`"]}`)
			},
			calls: []string{"append out/policy.json", "rename work/file.txt out/policy.json"},
			want:  either(held("EROFS EXDEV"), residual("inputs", "ok ok")),
		},
		{
			name: "policy file in a writable root", policy: func(tr *testenv.Tree) flags { return append(work(tr), "--policy", tr.Path("work/policy.json")) },
			prepare: func(_ *testing.T, tr *testenv.Tree) { tr.Write("work/policy.json", `{"version": 1}`) },
			calls:   []string{"append work/policy.json"}, want: everywhere(held("refused")),
		},
		{
			name: "report through a planted link", policy: func(tr *testenv.Tree) flags { return append(work(tr), "--report", tr.Path("work/report")) },
			prepare: func(_ *testing.T, tr *testenv.Tree) { tr.Link(tr.Path("out/file.txt"), "work/report") },
			calls:   []string{"append work/file.txt"}, want: everywhere(held("refused")),
		},
	})
}

// hijack puts a program named bwrap first on the PATH. Whoever runs it without
// confinement leaves a file outside the workspace.
func hijack(w world) string {
	w.t.Helper()
	w.tree.WriteProgram("work/bin/bwrap", "#!/bin/sh\n: > "+w.tree.Path("out/hijacked")+"\n")
	c := w.command("true")
	if !w.confined {
		c.Argv = []string{"sh", "-c", "bwrap"}
	}
	c.Env = []string{"PATH=" + w.tree.Path("work/bin") + ":" + testenv.Path}
	return w.left(c, "out/hijacked")
}

// preload makes every dynamic program leave a file outside the workspace.
func preload(w world) string {
	w.t.Helper()
	w.tree.Write("work/evil.c", `#include <fcntl.h>
__attribute__((constructor)) static void run(void) { open("`+w.tree.Path("out/hijacked")+`", O_CREAT | O_WRONLY, 0666); }
`)
	gcc := exec.Command("gcc", "-shared", "-fPIC", "-o", w.tree.Path("work/evil.so"), w.tree.Path("work/evil.c"))
	if out, err := gcc.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	c := w.command("true")
	c.Env = []string{"LD_PRELOAD=" + w.tree.Path("work/evil.so")}
	return w.left(c, "out/hijacked")
}

// left runs a command and tells whether it left a file.
func (w world) left(c testenv.Command, name string) string {
	w.t.Helper()
	if res := c.Run(w.t); res.Status != 0 {
		w.t.Fatalf("%q gave %+v", c.Argv, res)
	}
	if w.tree.Exists(name) {
		return "ok"
	}
	return "gone"
}

func launcherReplaced(w world) string {
	return launcherAt(w, "out/launcher", "rename work/file.txt out/launcher", "chmod out/launcher")
}

// companionWritable lists the companion of a launcher that the user owns.
func companionWritable(tr *testenv.Tree) flags {
	return append(work(tr), "--writable", tr.Path("out/letta-confine-check"))
}

func companionReplaced(w world) string {
	w.tree.WriteProgram("out/letta-confine-check", "#!/bin/sh\n")
	return launcherAt(w, "out/launcher", "rename work/file.txt out/letta-confine-check", "chmod out/letta-confine-check")
}

// launcherAt makes calls under a launcher that the user owns.
func launcherAt(w world, name string, calls ...string) string {
	w.t.Helper()
	text, err := os.ReadFile(testenv.Launcher(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	w.tree.WriteProgram(name, string(text))
	c := w.command(w.args(calls...)...)
	if w.confined {
		c.Argv[0] = w.tree.Path(name)
	}
	return w.answers(c)
}

// TestDeferredExecution: what the command may write, and an unconfined program
// runs or obeys later, acts for the command. --protect and --protect-git keep
// what is there from being changed; they cannot keep out what is not there.
func TestDeferredExecution(t *testing.T) {
	const limit = "deferred"
	git := protect(work, "--protect-git", "work/repo")
	rc := protect(cross, "--protect", "home/.bashrc")
	run(t, false, "deferred execution", []attack{
		{name: "git hook", policy: work, do: later(hook), want: everywhere(residual(limit, "ran")), free: "ran", need: program("git")},
		{name: "git hook, protected", policy: git, do: later(hook), want: everywhere(held("not-run")), free: "ran", need: program("git")},
		{name: "git configuration", policy: work, do: later(monitor), want: everywhere(residual(limit, "ran")), free: "ran", need: program("git")},
		{name: "git configuration, protected", policy: git, do: later(monitor), want: everywhere(held("not-run")), free: "ran", need: program("git")},
		{name: "git directory swapped, protected", policy: git, do: later(swapped), want: everywhere(held("not-run")), free: "ran", need: program("git")},
		{name: "git commondir", policy: work, do: later(commondir), want: everywhere(residual(limit, "ran")), free: "ran", need: program("git")},
		{name: "git commondir, protected", policy: git, do: later(commondir), want: either(residual(limit, "ran"), held("not-run")), free: "ran", need: program("git")},
		{name: "git repository inside, protected", policy: git, do: later(nested), want: either(residual(limit, "ran"), held("not-run")), free: "ran", need: program("git")},
		{name: "rc file", prepare: bashrc, calls: []string{"append home/.bashrc"}, want: everywhere(residual(limit, "ok"))},
		{name: "rc file, protected", policy: rc, prepare: bashrc, calls: []string{"append home/.bashrc", "rename work/file.txt home/.bashrc"}, want: either(held("EROFS EXDEV"), held("EACCES EACCES"))},
		{name: "rc file that is not there", policy: work, calls: []string{"create work/.envrc"}, want: everywhere(residual(limit, "ok"))},
		{name: "program on the PATH", prepare: mkdirs("home/.local/bin"), calls: []string{"create home/.local/bin/git"}, want: wants{
			"": residual(limit, "ok"), "bwrap/root": gap(limit, "ok"), "landlock/root": gap(limit, "ok"),
		}},
		{name: "ssh keys", prepare: mkdirs("home/.ssh"), calls: []string{"create home/.ssh/authorized_keys"}, want: everywhere(residual(limit, "ok"))},
	})
}

func bashrc(_ *testing.T, tr *testenv.Tree) { tr.Write("home/.bashrc", "# rc\n") }

// Each of these scripts arranges, in a repository, that git runs ./pay.
const (
	hook      = `cp pay .git/hooks/post-commit`
	monitor   = `printf '[core]\n\tfsmonitor = %s/pay\n' "$PWD" >> .git/config; cp .git/config .git/config.lock && mv -f .git/config.lock .git/config`
	swapped   = `mv .git .g2 && cp -R .g2 .git; cp pay .git/hooks/post-commit`
	commondir = `cp -R .git evil && printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = %s/pay\n' "$PWD" > evil/config && echo "$PWD/evil" > .git/commondir`
	nested    = `git init -q sub && git -C sub -c user.name=A -c user.email=a@b.c commit -q --allow-empty -m one; git -C sub config core.fsmonitor "$PWD/pay"; git add sub`
)

// later runs a script in a repository, and then git outside, which may run what
// the script left.
func later(script string) func(w world) string {
	return func(w world) string {
		w.t.Helper()
		outside := w
		outside.confined = false
		git := `git -c user.name=A -c user.email=a@b.c `
		setup := `set -e; git init -q repo; cd repo; printf '#!/bin/sh\n: > ` + w.tree.Path("out/ran") + `\n' > pay; chmod +x pay; git add .; ` + git + `commit -qm one; mkdir -p .git/hooks`
		if res := outside.run("sh", "-c", setup); res.Status != 0 {
			w.t.Fatalf("making a repository gave %+v", res)
		}
		if res := w.run("sh", "-c", "cd repo; "+script+"; true"); res.Status != 0 {
			w.t.Fatalf("the script gave %+v", res)
		}
		outside.run("sh", "-c", `cd repo; echo two > file; git add file; `+git+`commit -qm two; git status; true`)
		if w.tree.Exists("out/ran") {
			return "ran"
		}
		return "not-run"
	}
}

// TestReplaceableLauncher: a launcher that the command may replace, where the
// backend cannot prevent it, is warned about as a policy file is, or the plan
// names the gap deferred.
func TestReplaceableLauncher(t *testing.T) {
	t.Parallel()
	each(t, false, "launcher trust", "replaceable launcher is told", func(t *testing.T, b box) string {
		w := attack{}.world(t, b, true)
		text, err := os.ReadFile(testenv.Launcher(t))
		if err != nil {
			t.Fatal(err)
		}
		w.tree.WriteProgram("out/launcher", string(text))
		c := w.command("true")
		c.Argv[0] = w.tree.Path("out/launcher")
		c.Argv = slices.DeleteFunc(c.Argv, func(arg string) bool { return arg == "--quiet" })
		res := c.Run(t)
		if b.backend == "bwrap" { // which keeps it from being replaced
			if res.Stderr != "" {
				t.Errorf("stderr is %q, want nothing", res.Stderr)
			}
			return "held"
		}
		if !strings.Contains(res.Stderr, "can be changed by the command") && !slices.Contains(w.plan().Gaps, "deferred") {
			t.Errorf("the launcher can be replaced by the command, and neither a warning (%q) nor a gap says so", res.Stderr)
		}
		return "residual inputs"
	})
}
