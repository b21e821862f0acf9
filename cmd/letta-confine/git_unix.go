//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// repository is what git executes or obeys in the repository of a working tree:
// hooks, configuration (which can name programs), attributes, remotes, and the files
// that lead git to these.
type repository struct {
	// guards are paths that must not change. Some may be missing: where a backend
	// has to make a mount point that is an empty directory, which git takes for no
	// hooks, no attributes, no remotes and, with a warning, no configuration (measured: 2.39).
	guards []string

	// trees are the .git files of other working trees. Files that a command may
	// have written name them, so they are guarded only where it could write them.
	trees []string

	// open is whether a file commondir could be made where there is none. Of that
	// git makes nothing good but a file: an empty directory there ends it.
	open bool
}

// gitGuards looks at the repository of the working tree dir: its own, those of its
// submodules, and what each linked working tree has beside.
func gitGuards(dir string) (repository, error) {
	var r repository
	dot := filepath.Join(dir, ".git")
	info, err := hostfs.FS{}.Lstat(dot)
	switch {
	case err != nil || info.Kind == policy.Missing:
		return r, withHint(errors.New("there is no .git"), "name the top directory of a working tree")
	case info.Kind == policy.Symlink:
		return r, withHint(errors.New("its .git is a symlink, which cannot be kept"), "name a working tree that has its own")
	}
	gitDir := dot
	if info.Kind == policy.File { // a linked working tree or a submodule
		r.guards = append(r.guards, dot)
		if gitDir, err = pointer(dot, "gitdir: ", dir); err != nil {
			return r, err
		}
	}
	common := gitDir
	if target, err := pointer(filepath.Join(gitDir, "commondir"), "", gitDir); err == nil {
		common = target
	} else if !errors.Is(err, unix.ENOENT) {
		return r, err
	}
	return r, r.add(common)
}

// add adds a git directory that is not that of a linked working tree.
func (r *repository) add(dir string) error {
	config := filepath.Join(dir, "config")
	// A remote that the configuration lacks is one by the name of a file in remotes
	// or branches: a push there runs the hooks of whatever repository that names.
	for _, name := range []string{"hooks", "info", "config", "remotes", "branches"} {
		r.guards = append(r.guards, filepath.Join(dir, name))
	}
	text, err := readFile(config, maxGitConfig)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%q: %w", config, err)
	}
	// Nobody but the configuration makes git read this one.
	perTree := strings.Contains(strings.ToLower(string(text)), "worktreeconfig")
	own := func(dir string) {
		file := filepath.Join(dir, "config.worktree")
		if perTree || hostfs.Visible(file) {
			r.guards = append(r.guards, file)
		}
	}
	own(dir)
	if file := filepath.Join(dir, "commondir"); hostfs.Visible(file) {
		r.guards = append(r.guards, file)
	} else {
		r.open = true
	}
	r.tree(workTree(string(text), dir))
	linked, err := subdirectories(filepath.Join(dir, "worktrees"))
	if err != nil {
		return err
	}
	for _, dir := range linked {
		own(dir)
		for _, name := range []string{"commondir", "gitdir"} {
			if file := filepath.Join(dir, name); hostfs.Visible(file) {
				r.guards = append(r.guards, file)
			}
		}
		if dot, err := pointer(filepath.Join(dir, "gitdir"), "", dir); err == nil {
			r.tree(filepath.Dir(dot))
		}
	}
	return r.modules(filepath.Join(dir, "modules"))
}

// maxGitConfig bounds what is read of a configuration file.
const maxGitConfig = 1 << 20

// modules adds the git directories of submodules. The name of one may have slashes.
func (r *repository) modules(dir string) error {
	dirs, err := subdirectories(dir)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		next := r.modules
		if hostfs.Visible(filepath.Join(dir, "HEAD")) {
			next = r.add
		}
		if err := next(dir); err != nil {
			return err
		}
	}
	return nil
}

// tree adds the .git file of a working tree, where it is one and no link leads to it.
func (r *repository) tree(dir string) {
	dot := filepath.Join(dir, ".git")
	if info, err := (hostfs.FS{}).Lstat(dot); err == nil && info.Kind == policy.File && canonicalOr(dot) == dot {
		r.trees = append(r.trees, dot)
	}
}

// workTree returns what a configuration says of where the working tree is, or "".
func workTree(config, dir string) string {
	for line := range strings.Lines(config) {
		name, value, _ := strings.Cut(line, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "worktree") {
			continue
		}
		path := strings.Trim(strings.TrimSpace(value), `"`)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path
	}
	return ""
}

// subdirectories lists the directories in dir. A symlink there is refused: what it
// leads to can be changed, and so can the link.
func subdirectories(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.Type()&os.ModeSymlink != 0:
			return nil, fmt.Errorf("%q is a symlink, which cannot be kept", path)
		case e.IsDir():
			dirs = append(dirs, path)
		}
	}
	return dirs, nil
}

// linkedTree returns the common git directory of a linked working tree. Its .git
// file may be an earlier run's: so the repository must know of the tree, which it
// does by a file of its own that names the tree.
func linkedTree(dir string) (common string, err error) {
	const hint = "name a directory that git worktree add made; git worktree repair mends one that was moved"
	fail := func(text string) (string, error) { return "", withHint(errors.New(text), hint) }
	dot := filepath.Join(canonicalOr(dir), ".git")
	if info, err := (hostfs.FS{}).Lstat(dot); err != nil || info.Kind != policy.File {
		return fail("it is no linked working tree")
	}
	gitDir, err := pointer(dot, "gitdir: ", filepath.Dir(dot))
	if err != nil {
		return "", err
	}
	if common, err = pointer(filepath.Join(gitDir, "commondir"), "", gitDir); err != nil {
		return fail("it is no linked working tree")
	}
	back, err := pointer(filepath.Join(gitDir, "gitdir"), "", gitDir)
	if err != nil {
		return "", err
	}
	gitDir, common = canonicalOr(gitDir), canonicalOr(common)
	if filepath.Dir(gitDir) != common+"/worktrees" || canonicalOr(back) != dot || !hostfs.Visible(common+"/HEAD") || !hostfs.Visible(common+"/objects") {
		return fail(fmt.Sprintf("the repository %q does not know it", common))
	}
	return common, nil
}

// worktrees grants the repositories of --git-worktree. What git obeys in them is
// kept by guard.
func (in *inputs) worktrees(p *policy.Policy) error {
	if len(in.opts.gitWorktree) == 0 {
		return nil
	}
	rest, err := in.resolveOf(*p)
	if err != nil {
		return err
	}
	for _, dir := range in.opts.gitWorktree {
		common, err := linkedTree(absolute(dir))
		if err != nil {
			return withHint(fmt.Errorf("--git-worktree %q: %w", dir, err), hintOf(err))
		}
		if d := rest.Decide(common); d.Access == policy.None {
			return fmt.Errorf("--git-worktree %q: its repository %q is inside denied root %q", dir, common, d.Root.Path)
		}
		if err := p.Add(policy.Writable, common); err != nil {
			return err
		}
		// What is kept is of the repository that was granted, whatever the .git file
		// says by now.
		r := repository{guards: []string{filepath.Join(canonicalOr(absolute(dir)), ".git")}}
		if err := r.add(common); err != nil {
			return fmt.Errorf("--git-worktree %q: %w", dir, err)
		}
		in.granted = append(in.granted, r)
	}
	return nil
}

// worktreeHint says what grants a path that belongs to the repository of the linked
// working tree that the command starts in.
func (in *inputs) worktreeHint(path string) string {
	for _, dir := range append([]string{in.cwd}, policy.Ancestors(in.cwd)...) {
		if !hostfs.Visible(dir + "/.git") {
			continue
		}
		if common, err := linkedTree(dir); err == nil && policy.Holds(common, path) {
			return fmt.Sprintf("this is in the repository of the linked working tree %q: --git-worktree %q grants what git needs of it", dir, dir)
		}
		break
	}
	return ""
}

// pointer reads a file of git's that holds a path, which may be relative to dir.
func pointer(file, prefix, dir string) (string, error) {
	text, err := readFile(file, unix.PathMax)
	if err != nil {
		return "", fmt.Errorf("%q: %w", file, err)
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	if !ok || path == "" {
		return "", fmt.Errorf("%q does not say where the repository is", file)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path, nil
}
