//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// guard adds what --protect and --protect-git name to the readonly roots: files
// that something unconfined runs later. A readonly root cannot be renamed away,
// and neither can a directory above it.
//
// A readonly root below a denied one would uncover it, and what names the files of
// git's is a file that an earlier run may have written: so each is judged by the
// rest of the policy first.
func (in *inputs) guard(p *policy.Policy) error {
	if len(in.opts.protect) == 0 && len(in.opts.protectGit) == 0 && len(in.granted) == 0 {
		return nil
	}
	rest, err := in.resolveOf(*p)
	if err != nil {
		return err
	}
	for _, path := range in.opts.protect {
		info, err := hostfs.FS{}.Lstat(path)
		if err != nil {
			return withHint(fmt.Errorf("--protect %q: %w", path, bare(err)), "name a file or directory that exists: a missing one cannot be kept from being made")
		}
		if info.Kind == policy.Symlink {
			return withHint(fmt.Errorf("--protect %q: it is a symlink", path), "protect what it leads to, and the directory that holds it")
		}
		if err := in.addGuard(p, rest, "--protect", path); err != nil {
			return err
		}
	}
	for _, r := range in.granted {
		if err := in.guardGit(p, rest, "--git-worktree", r); err != nil {
			return err
		}
	}
	for _, dir := range in.opts.protectGit {
		r, err := gitGuards(absolute(dir))
		if err != nil {
			return withHint(fmt.Errorf("--protect-git %q: %w", dir, err), hintOf(err))
		}
		if err := in.guardGit(p, rest, "--protect-git", r); err != nil {
			return err
		}
	}
	return nil
}

func (in *inputs) guardGit(p *policy.Policy, rest policy.Resolved, flag string, r repository) error {
	for _, path := range r.guards {
		if err := in.addGuard(p, rest, flag, path); err != nil {
			return err
		}
	}
	for _, path := range r.trees {
		if rest.Decide(path).Access != policy.ReadWrite || slices.Contains(p.ReadOnly, path) {
			continue
		}
		if err := in.addGuard(p, rest, flag, path); err != nil {
			return err
		}
	}
	in.openGit = in.openGit || r.open
	return nil
}

// addGuard refuses a path that is a writable root itself: at one path writable
// goes before readonly, and the guard would be silently void. It refuses one that
// the rest of the policy denies.
func (in *inputs) addGuard(p *policy.Policy, rest policy.Resolved, flag, path string) error {
	path = absolute(path)
	canonical, err := policy.Canonical(path, hostfs.FS{})
	if err != nil {
		return fmt.Errorf("%s %q: %w", flag, path, bare(err))
	}
	if d := rest.Decide(canonical); d.Access == policy.None {
		return withHint(fmt.Errorf("%s %q is inside denied root %q, and would be uncovered", flag, path, d.Root.Path), "see what the .git file of the working tree says, or leave it out")
	}
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

// bare returns the cause of an error that names a path, for a text that names it
// already.
func bare(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		return cause
	}
	return err
}
