//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/profile"
)

// mode adds the policy of --mode or --preset, or of the mode workspace-write where
// nothing on the command line says anything about roots, or only the workspace.
//
// A preset is a mode and when to ask before going beyond it. Nothing here asks yet:
// what a mode does not allow is refused.
func (in *inputs) mode(p *policy.Policy) error {
	o := in.opts
	if o.mode != "" && o.preset != "" && o.mode != o.preset {
		return usageError(fmt.Sprintf("--mode %s and --preset %s name different modes", o.mode, o.preset))
	}
	mode := o.mode
	if mode == "" {
		mode = o.preset
	}
	in.about.Mode = mode
	if mode == "" && (!o.hasPolicy() || (o.who.Workspace != "" && o.profile != profile.Workspace)) {
		mode = "workspace-write"
	}
	switch mode {
	case "read-only":
		p.RestrictWrites = true
	case "workspace-write":
		return in.workspace(p)
	case "danger-full-access":
		in.reason, in.warning = mode, "mode danger-full-access confines nothing"
	}
	return nil
}

// workspace is the policy of the mode workspace-write: the workspace, which is the
// current directory unless --workspace names another, and the temporary directory
// are written, everything is read.
func (in *inputs) workspace(p *policy.Policy) error {
	const hint = "start in the directory that the command works on, or say what it may write with --restrict-writes --writable DIR"
	home, _ := launch.Getenv(in.env, "HOME")
	if home != "" {
		home = canonicalOr(home)
	}
	what, dir, path := "the working directory", in.cwd, in.cwd
	if given := in.opts.who.Workspace; given != "" {
		what, dir = "--workspace", absolute(given)
		var err error
		if path, err = policy.Canonical(dir, hostfs.FS{}); err != nil {
			return fmt.Errorf("--workspace %q: %w", given, bare(err))
		}
		if info, err := (hostfs.FS{}).Lstat(path); err != nil || info.Kind != policy.Dir {
			return withHint(fmt.Errorf("--workspace %q is not a directory", given), "name the directory that the command works on")
		}
	}
	switch {
	case path == "/":
		return withHint(errors.New(what+` is "/", and all of it would be writable`), hint)
	case home != "" && home != "/" && policy.Holds(path, home):
		return withHint(fmt.Errorf("%s %q holds your home directory, and all of it would be writable", what, path), hint)
	}
	roots := []string{dir}
	switch tmp := in.opts.tmpdir; {
	case tmp != "":
		roots = append(roots, absolute(tmp))
	case in.opts.tmp != "private":
		tmp, err := in.tempDir(home)
		if err != nil {
			return err
		}
		roots = append(roots, tmp)
	}
	p.RestrictWrites = true
	for _, root := range roots {
		if err := p.Add(policy.Writable, root); err != nil {
			return err
		}
		in.implied = append(in.implied, root)
	}
	return nil
}

// tempDir returns the temporary directory that the command will use.
func (in *inputs) tempDir(home string) (string, error) {
	dir, _ := launch.Getenv(in.env, "TMPDIR")
	if dir == "" {
		return defaultTemp, nil
	}
	fail := func(reason string) (string, error) {
		return "", withHint(fmt.Errorf("TMPDIR %q %s", dir, reason), "set TMPDIR to a directory of its own, or unset it to use /tmp")
	}
	if !filepath.IsAbs(dir) {
		return fail("is not absolute")
	}
	path, err := policy.Canonical(dir, hostfs.FS{})
	if err != nil {
		return fail(fmt.Sprintf("cannot be resolved: %v", err))
	}
	info, err := hostfs.FS{}.Lstat(path)
	switch {
	case err != nil || info.Kind != policy.Dir:
		return fail("is not a directory")
	case path == "/":
		return fail(`is "/"`)
	case home != "" && policy.Holds(path, home):
		return fail("holds your home directory")
	case path != in.cwd && policy.Holds(path, in.cwd):
		return fail("holds the working directory")
	}
	return path, nil
}
