//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// guard adds what --protect and --protect-git name to the readonly roots: files
// that something unconfined runs later. A readonly root cannot be renamed away,
// and neither can a directory above it.
func (in *inputs) guard(p *policy.Policy) error {
	for _, path := range in.opts.protect {
		info, err := hostfs.FS{}.Lstat(path)
		if err != nil {
			return withHint(fmt.Errorf("--protect %q: %w", path, bare(err)), "name a file or directory that exists: a missing one cannot be kept from being made")
		}
		if info.Kind == policy.Symlink {
			return withHint(fmt.Errorf("--protect %q: it is a symlink", path), "protect what it leads to, and the directory that holds it")
		}
		if err := in.addGuard(p, "--protect", path); err != nil {
			return err
		}
	}
	for _, dir := range in.opts.protectGit {
		guards, err := gitGuards(dir)
		if err != nil {
			return fmt.Errorf("--protect-git %q: %w", dir, err)
		}
		for _, path := range guards {
			if err := in.addGuard(p, "--protect-git", path); err != nil {
				return err
			}
		}
	}
	return nil
}

// addGuard refuses a path that is a writable root itself: at one path writable
// goes before readonly, and the guard would be silently void.
func (in *inputs) addGuard(p *policy.Policy, flag, path string) error {
	path = absolute(path)
	for _, root := range p.Writable {
		if canonicalOr(root) == canonicalOr(path) {
			return fmt.Errorf("%s %q: it is a writable root too", flag, path)
		}
	}
	if err := p.Add(policy.ReadOnly, path); err != nil {
		return err
	}
	in.implied = append(in.implied, path)
	return nil
}

// gitGuards returns what git executes or obeys in the repository of a working
// tree: hooks, configuration (which can name programs), and the files that lead
// git to them. The directories are returned also where they are missing, because
// an empty one changes nothing for git; a missing file cannot be guarded.
func gitGuards(dir string) ([]string, error) {
	dot := filepath.Join(dir, ".git")
	info, err := hostfs.FS{}.Lstat(dot)
	if err != nil {
		return nil, withHint(errors.New("there is no .git"), "name the top directory of a working tree")
	}
	var guards []string
	gitDir := dot
	if info.Kind == policy.File { // a linked working tree or a submodule
		guards = append(guards, dot)
		if gitDir, err = pointer(dot, "gitdir: ", dir); err != nil {
			return nil, err
		}
	}
	common := gitDir
	if target, err := pointer(filepath.Join(gitDir, "commondir"), "", gitDir); err == nil {
		common = target
	} else if !errors.Is(err, unix.ENOENT) {
		return nil, err
	}
	guards = append(guards, filepath.Join(common, "hooks"), filepath.Join(common, "info"))
	for _, file := range []string{
		filepath.Join(common, "config"), filepath.Join(common, "config.worktree"), filepath.Join(gitDir, "config.worktree"),
		filepath.Join(gitDir, "commondir"), filepath.Join(gitDir, "gitdir"),
	} {
		if visible(file) {
			guards = append(guards, file)
		}
	}
	return guards, nil
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

// bare returns the cause of an error that names a path, for a text that names it
// already.
func bare(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		return cause
	}
	return err
}
