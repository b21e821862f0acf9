package integration

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestPlantedGitPointer: a .git file that an earlier run left in the workspace
// names another agent's repository. What protects a repository uncovers nothing.
func TestPlantedGitPointer(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		for _, flag := range []string{"--protect-git", "--git-worktree"} {
			tr := testenv.NewTree(t, b.user)
			const repo = bob + "/memory/.git"
			tr.Write(repo+"/config", testenv.BobText)
			tr.Write(repo+"/hooks/secret", testenv.BobText)
			tr.Write(repo+"/HEAD", "ref: refs/heads/main\n")
			tr.Write("work/.git", "gitdir: "+tr.Path(repo)+"\n")
			f := append(crossFlags(tr), flag, tr.Path("work"))
			for _, name := range []string{"/config", "/hooks/secret"} {
				if res := b.run(t, tr, f, "cat", tr.Path(repo+name)); res.Status != 125 || res.Stdout != "" {
					t.Errorf("%s: cat of bob's %s = %+v, want a refusal to start", flag, name, res)
				}
				if res := b.free(t, tr, "cat", tr.Path(repo+name)); res.Stdout != testenv.BobText {
					t.Errorf("control: cat of bob's %s = %+v, want its text", name, res)
				}
			}
		}
	})
}

// gitFiles are a repository with a submodule, whose own has one, and a linked
// working tree; the configuration makes git read a file for each working tree.
func gitFiles(tr *testenv.Tree) {
	for _, dir := range []string{"work/.git", "work/.git/modules/a/b", "work/.git/modules/a/b/modules/c"} {
		tr.Write(dir+"/HEAD", "ref: refs/heads/main\n")
		tr.Write(dir+"/info/attributes", "# none\n")
		tr.Mkdir(dir + "/objects")
	}
	tr.Mkdir("work/.git/branches")
	tr.Write("work/.git/config", "[extensions]\n\tworktreeConfig = true\n")
	tr.Write("work/.git/modules/a/b/config", "[core]\n\tworktree = ../../../../b\n")
	tr.Write("work/.git/modules/a/b/hooks/keep", "# kept\n")
	tr.Write("work/b/.git", "gitdir: ../.git/modules/a/b\n")
	const linked = "work/.git/worktrees/linked"
	tr.Write(linked+"/HEAD", "ref: refs/heads/linked\n")
	tr.Write(linked+"/commondir", "../..\n")
	tr.Write(linked+"/gitdir", tr.Path("work/linked/.git")+"\n")
	tr.Write("work/linked/.git", "gitdir: "+tr.Path(linked)+"\n")
}

// TestProtectGit: what git executes or obeys stays as it is, and what is not there
// is not made.
func TestProtectGit(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: gitFiles,
			flags:   func(tr *testenv.Tree) flags { return append(workFlags(tr), "--protect-git", tr.Path("work")) },
			rows: []row{
				{"append", "work/.git/config", readOnly, ""},
				{"unlink", "work/.git/config", pinnedRoot, ""},
				{"rename", "work/file.txt work/.git/config", moveOut, ""},
				{"append", "work/.git/info/attributes", readOnly, ""},
				{"create", "work/.git/info/grafts", readOnly, ""},
				{"mkdir", "work/.git/hooks", taken, "made as an empty directory"},
				{"create", "work/.git/config.worktree", taken, "made as an empty directory"},
				{"rename", "work/file.txt work/.git/config.worktree", moveOut, ""},
				{"rename", "work/.git work/elsewhere", pinned, ""},
				{"mkdir", "work/.git/remotes", taken, "where a push goes, as git once kept it"},
				{"create", "work/.git/branches/origin", readOnly, ""},

				{"append", "work/.git/modules/a/b/config", readOnly, "a submodule's"},
				{"create", "work/.git/modules/a/b/hooks/post-checkout", readOnly, ""},
				{"append", "work/.git/modules/a/b/info/attributes", readOnly, ""},
				{"append", "work/b/.git", readOnly, "leads to the submodule's"},
				{"rename", "work/file.txt work/b/.git", moveOut, ""},
				{"create", "work/.git/modules/a/b/modules/c/config", taken, "the submodule's submodule has none"},
				{"append", "work/.git/modules/a/b/modules/c/info/attributes", readOnly, ""},

				{"append", "work/.git/worktrees/linked/commondir", readOnly, "a linked working tree's"},
				{"append", "work/.git/worktrees/linked/gitdir", readOnly, ""},
				{"create", "work/.git/worktrees/linked/config.worktree", taken, ""},
				{"append", "work/linked/.git", readOnly, "leads to it"},
				{"rename", "work/file.txt work/linked/.git", moveOut, ""},

				{"append", "work/file.txt", allowed, ""},
				{"append", "work/.git/HEAD", allowed, ""},
				{"create", "work/.git/objects/new", allowed, ""},
				{"append", "work/.git/worktrees/linked/HEAD", allowed, ""},
			},
			after: func(t *testing.T, tr *testenv.Tree) {
				for _, name := range []string{
					"work/.git/hooks", "work/.git/remotes", "work/.git/config.worktree", "work/.git/modules/a/b/modules/c/config", "work/.git/commondir",
				} {
					if tr.Exists(name) {
						t.Errorf("%s is there after the run", name)
					}
				}
			},
		}.run(t, b)
	})
}

// TestGitWorktree: git works in a linked working tree whose repository is
// elsewhere, and what it obeys stays as it is. With Landlock that leaves too little:
// nothing can be made beside what is kept.
func TestGitWorktree(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		_, err := exec.LookPath("git")
		testenv.Need(t, testenv.FacilityTools, err)
		tr := testenv.NewTree(t, b.user)
		const git = "git -c user.name=A -c user.email=a@b.c "
		setup := "set -e; cd ../out; git init -q -b main repo; cd repo; " + git + "commit -q --allow-empty -m one; git worktree add -q ../../work/tree"
		if res := b.free(t, tr, "/bin/sh", "-c", setup); res.Status != 0 {
			t.Fatalf("making a working tree = %+v", res)
		}
		granted := append(workFlags(tr), "--git-worktree", tr.Path("work/tree"))
		commit := "cd tree && echo x >new && git add new && " + git + "commit -qm two && git log --format=%s"
		want, says := "two\none\n", ""
		if b.backend == "landlock" {
			want, says = "", "Permission denied"
		}
		if res := b.run(t, tr, granted, "/bin/sh", "-c", commit); res.Stdout != want || (says == "") != (res.Status == 0) || !strings.Contains(res.Stderr, says) {
			t.Errorf("a commit = %+v, want %q and %q", res, want, says)
		}
		if res := b.run(t, tr, workFlags(tr), "/bin/sh", "-c", commit); res.Status == 0 || !strings.Contains(res.Stderr, "index.lock") {
			t.Errorf("a commit without the repository = %+v, want index.lock refused", res)
		}
		for _, script := range []string{
			"echo x >../out/repo/.git/hooks/post-commit", "git -C tree config core.fsmonitor ./pay", "echo x >>../out/repo/.git/worktrees/tree/commondir",
			"echo x >>tree/.git", "echo x >../out/repo/new",
		} {
			if res := b.run(t, tr, granted, "/bin/sh", "-c", script); res.Status == 0 {
				t.Errorf("%s = %+v, want it refused", script, res)
			}
			if res := b.free(t, tr, "/bin/sh", "-c", script); res.Status != 0 {
				t.Errorf("control: %s = %+v", script, res)
			}
			tr.Write("work/tree/.git", "gitdir: "+tr.Path("out/repo/.git/worktrees/tree")+"\n")
			tr.Write("out/repo/.git/worktrees/tree/commondir", "../..\n")
		}
	})
}

// TestRebaseLeftHalfDone: what a command leaves of a rebase is gone on with outside, with
// whatever programs it names: --protect-git keeps that from nobody, on bubblewrap.
func TestRebaseLeftHalfDone(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		_, err := exec.LookPath("git")
		testenv.Need(t, testenv.FacilityTools, err)
		tr := testenv.NewTree(t, b.user)
		const git = "git -c user.name=A -c user.email=a@b.c "
		setup := "set -e; git init -q -b main .; " + git + "commit -q --allow-empty -m one; " + git + "commit -q --allow-empty -m two"
		if res := b.free(t, tr, "/bin/sh", "-c", setup); res.Status != 0 {
			t.Fatalf("making a repository = %+v", res)
		}
		leave := "GIT_SEQUENCE_EDITOR='echo break >' " + git + "rebase -q -i HEAD~1; echo 'exec touch ran' >>.git/rebase-merge/git-rebase-todo"
		if res := b.run(t, tr, append(workFlags(tr), "--protect-git", tr.Path("work")), "/bin/sh", "-c", leave); res.Status != 0 || tr.Exists("work/ran") {
			t.Fatalf("leaving a rebase = %+v", res)
		}
		if res := b.free(t, tr, "/bin/sh", "-c", git+"rebase --continue"); res.Status != 0 || !tr.Exists("work/ran") {
			t.Errorf("going on with it = %+v, ran %v: docs/limits.md says otherwise", res, tr.Exists("work/ran"))
		}
	})
}

// TestPlantedWorktree: an earlier run made the workspace look like a linked working
// tree of a repository that does not know it.
func TestPlantedWorktree(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		for _, gitDir := range []string{"out/.git/worktrees/other", "work/fake"} {
			tr := testenv.NewTree(t, b.user)
			tr.Write("out/.git/HEAD", "ref: refs/heads/main\n")
			tr.Mkdir("out/.git/objects")
			tr.Write("out/.git/worktrees/other/commondir", "../..\n")
			tr.Write("out/.git/worktrees/other/gitdir", tr.Path("out/other/.git")+"\n")
			tr.Write("work/fake/commondir", tr.Path("out/.git")+"\n")
			tr.Write("work/fake/gitdir", tr.Path("work/.git")+"\n")
			tr.Write("work/.git", "gitdir: "+tr.Path(gitDir)+"\n")
			res := b.run(t, tr, append(workFlags(tr), "--git-worktree", tr.Path("work")), "touch", tr.Path("out/.git/planted"))
			if res.Status != 125 || !strings.Contains(res.Stderr, "does not know it") || tr.Exists("out/.git/planted") {
				t.Errorf("%s: %+v, want a refusal to start", gitDir, res)
			}
			if res := b.free(t, tr, "touch", tr.Path("out/.git/planted")); res.Status != 0 {
				t.Errorf("control: %+v", res)
			}
		}
	})
}
