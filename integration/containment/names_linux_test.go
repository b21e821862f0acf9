package containment

import (
	"os"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// secondName gives bob's secret a second name in the workspace.
func secondName(t *testing.T, tr *testenv.Tree) {
	t.Helper()
	if err := os.Link(tr.Path(secret), tr.Path("work/h")); err != nil {
		t.Fatal(err)
	}
}

// TestHardLinks: a mask lies on a path, and a link made outside is another path.
// The command itself can make none.
func TestHardLinks(t *testing.T) {
	run(t, false, "second names", []attack{
		{name: "hard link made before", prepare: secondName, calls: []string{"read work/h"}, want: everywhere(residual("hard-links", "ok"))},
		{
			name: "hard link made before, written to", policy: work,
			prepare: func(t *testing.T, tr *testenv.Tree) {
				if err := os.Link(tr.Path("out/file.txt"), tr.Path("work/h")); err != nil {
					t.Fatal(err)
				}
			},
			calls: []string{"append work/h"}, want: everywhere(residual("hard-links", "ok")),
		},
		{name: "hard link made by the command", calls: []string{"link " + secret + " work/h"}, want: either(held("ENOENT"), held("EXDEV"))},
	})
}

// aliasing makes calls where a mount shows the tree a second time.
func aliasing(steps []string, calls ...string) func(w world) string {
	return func(w world) string {
		w.t.Helper()
		return w.answers(w.staged(steps, w.args(calls...)...))
	}
}

func mkdirs(names ...string) func(t *testing.T, tr *testenv.Tree) {
	return func(_ *testing.T, tr *testenv.Tree) {
		for _, name := range names {
			tr.Mkdir(name)
		}
	}
}

// onDevice replaces the home by an image of it, and makes a place where the
// device can be mounted again.
func onDevice(t *testing.T, tr *testenv.Tree) {
	t.Helper()
	testenv.Need(t, testenv.FacilityRoot, testenv.HasRoot())
	tr.Mkdir("again")
	testenv.Need(t, "loop", image(tr, "home", "out/image"))
}

// TestAliases: another mount of the same files, made before, is masked too.
func TestAliases(t *testing.T) {
	run(t, false, "second names", []attack{
		{
			name: "bind mount of an ancestor", prepare: mkdirs("alias"),
			do:   aliasing([]string{"bind home alias"}, "read alias/.letta/agents/bob/memory/x.md"),
			want: either(held("ENOENT"), held("EACCES")),
		},
		{
			name: "bind mount of a part", prepare: mkdirs("alias"),
			do:   aliasing([]string{"bind " + bob + " alias"}, "read alias/memory/x.md"),
			want: either(held("ENOENT"), held("EACCES")),
		},
		{
			name: "second mount of the device", prepare: onDevice,
			do:   aliasing([]string{"loop out/image home", "again home again"}, "read again/.letta/agents/bob/memory/x.md", "read "+secret),
			want: either(held("ENOENT ENOENT"), held("EACCES EACCES")),
		},
		{
			name: "the denied root is a mount point", prepare: mkdirs("kept"),
			do:   aliasing([]string{"copy " + agents + " kept/agents", "tmpfs " + agents, "copy kept/agents/bob " + agents + "/bob", "copy kept/agents/alice " + agents + "/alice"}, "read "+secret),
			want: either(held("ENOENT"), held("EACCES")),
		},
		{
			name: "a mount below a denied root", prepare: mkdirs("kept"),
			do:   aliasing([]string{"copy " + bob + " kept/bob", "tmpfs " + bob, "copy kept/bob/memory " + bob + "/memory"}, "read "+secret),
			want: either(held("ENOENT"), held("EACCES")),
		},
		{
			name: "a mount below what is read-only", policy: work,
			do:   aliasing([]string{"tmpfs out/sub"}, "create out/sub/new"),
			want: either(held("EROFS"), held("EACCES")),
		},
	})
}

// TestLateMounts: what the host mounts at a shared mount while a command runs
// arrives in a user's sandbox, where nothing masks it. As root it does not
// arrive. Landlock looks at the directories that a path leads through.
func TestLateMounts(t *testing.T) {
	run(t, false, "second names", []attack{
		{
			name: "alias mounted later", prepare: mkdirs("shared/alias"),
			do: aliasing([]string{"shared shared", "late", "bind home shared/alias"},
				"mark work/ready", "wait work/go", "read shared/alias/.letta/agents/bob/memory/x.md"),
			want: wants{"bwrap/root": held("ok ok ENOENT"), "bwrap/user": residual("late-mounts", "ok ok ok"), "landlock": residual("late-mounts", "ok ok ok")},
		},
		{
			name: "writable file system mounted later", policy: work, prepare: mkdirs("out/later"),
			do: aliasing([]string{"shared out", "late", "tmpfs out/later"},
				"mark work/ready", "wait work/go", "create out/later/new"),
			want: wants{"bwrap/root": held("ok ok EROFS"), "": held("ok ok EACCES")}, // a user's arrives, and Landlock refuses
		},
	})
}

// TestReplacedRoot: a mask lies on a directory. Where the host moves that away
// and makes a new one, the mask goes with the old one.
func TestReplacedRoot(t *testing.T) {
	run(t, false, "second names", []attack{{
		name:    "the host replaces a denied root",
		prepare: mkdirs("kept"),
		do: aliasing([]string{"copy " + agents + " kept/agents", "late", "exchange kept/agents " + agents},
			"mark work/ready", "wait work/go", "read "+secret),
		want: either(residual("replaced-root", "ok ok ok"), held("ok ok EACCES")),
	}})
}
