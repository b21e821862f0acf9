//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/profile"
)

// modes adds the policy of the mode that was chosen, or of the mode workspace-write
// where nothing on the command line says anything about roots, or only the workspace.
// A preset is a mode and when to ask before going beyond it.
func (in *inputs) modes(p *policy.Policy) error {
	o := in.opts
	mode, err := in.chosen()
	if err != nil {
		return err
	}
	in.about.Mode = mode
	if o.preset != "" || o.approval != "" || in.session.Policy != "" {
		in.about.Approval = in.approval()
	}
	if mode == "" && (!o.hasPolicy() || (o.who.Workspace != "" && o.profile != profile.Workspace)) {
		mode = workspaceWrite
	}
	in.mode = mode
	switch mode {
	case readOnly:
		p.RestrictWrites = true
	case workspaceWrite:
		return in.workspace(p)
	case danger:
		in.reason, in.warning = mode, "mode danger-full-access confines nothing"
	}
	return nil
}

// statesPolicy reports whether the command line says anything from which a policy
// is made.
func (o *options) statesPolicy() bool {
	return o.hasPolicy() || o.mode != "" || o.preset != "" || o.defaultMode != "" || o.sessionLog != "" || o.who.Workspace != "" || o.denyHelpers ||
		len(o.protect) > 0 || len(o.protectGit) > 0
}

// chosen returns the mode that somebody chose, or "". The order is DSH's: what was
// asked for by name goes before what a session is in, and that before the default,
// which is DSH's variable where the caller says that it counts.
func (in *inputs) chosen() (string, error) {
	o := in.opts
	named := o.mode != "" && o.mode != modeEnv
	if named && o.preset != "" && o.mode != o.preset {
		return "", usageError(fmt.Sprintf("--mode %s and --preset %s name different modes", o.mode, o.preset))
	}
	switch {
	case named:
		return o.mode, nil
	case o.preset != "":
		return o.preset, nil
	case in.session.Mode != "":
		in.about.ModeFrom = sessionFlag
		return in.session.Mode, nil
	}
	if o.mode == modeEnv {
		if mode := in.getenv(modeVar); mode != "" {
			if !slices.Contains(modes, mode) {
				return "", withHint(fmt.Errorf("%s is %q", modeVar, mode), "set it to "+strings.Join(modes, ", ")+", or unset it")
			}
			in.about.ModeFrom = modeVar
			return mode, nil
		}
	}
	if o.defaultMode != "" {
		in.about.ModeFrom = "--default-mode"
		return o.defaultMode, nil
	}
	if o.mode == modeEnv {
		in.about.ModeFrom = "default"
		return workspaceWrite, nil
	}
	return "", nil
}

// approval is when to ask before going beyond the mode. A never that is said
// anywhere on the command line counts, in whatever order; then it is as for the mode.
func (in *inputs) approval() string {
	o := in.opts
	switch {
	case o.approval == never || o.preset == danger: // there is nothing beyond that
		return never
	case o.approval != "" || o.preset != "":
		return ask
	case in.session.Policy != "":
		return in.session.Policy
	case in.about.Mode == danger && in.about.ModeFrom != sessionFlag: // DSH's default
		return never
	}
	return ask
}

// modeEnv is the word of --mode that makes DSH's variable count. No variable says
// what confines a command unless a flag says so.
const (
	modeEnv = "env"
	modeVar = "DSH_PERMISSION_MODE"
)

// workspace is the policy of the mode workspace-write: the workspace, which is the
// current directory unless --workspace names another, and the temporary directory
// unless --no-tmpdir leaves it out are written, everything is read.
func (in *inputs) workspace(p *policy.Policy) error {
	const hint = "start in the directory that the command works on, or say what it may write with --restrict-writes --writable DIR"
	home := in.getenv("HOME")
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
	} else if err := in.unplantedChdir(); err != nil {
		return err
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
	case in.opts.tmp != "private" && !in.opts.noTmpdir:
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
	path, err := in.tempDirAnywhere()
	reason := ""
	switch {
	case err != nil || in.getenv("TMPDIR") == "":
		return path, err
	case path == "/":
		reason = `is "/"`
	case home != "" && policy.Holds(path, home):
		reason = "holds your home directory"
	case path != in.cwd && policy.Holds(path, in.cwd):
		reason = "holds the working directory"
	default:
		return path, in.unplanted("TMPDIR", in.getenv("TMPDIR"), path)
	}
	return "", in.tempDirError(reason)
}

// tempDirAnywhere is tempDir for a caller that grants only a folder below it: the
// directory may hold anything.
func (in *inputs) tempDirAnywhere() (string, error) {
	dir := in.getenv("TMPDIR")
	if dir == "" {
		return defaultTemp, nil
	}
	if !filepath.IsAbs(dir) {
		return "", in.tempDirError("is not absolute")
	}
	path, err := policy.Canonical(dir, hostfs.FS{})
	if err != nil {
		return "", in.tempDirError(fmt.Sprintf("cannot be resolved: %v", err))
	}
	if info, err := (hostfs.FS{}).Lstat(path); err != nil || info.Kind != policy.Dir {
		return "", in.tempDirError("is not a directory")
	}
	return path, nil
}

func (in *inputs) tempDirError(reason string) error {
	return withHint(fmt.Errorf("TMPDIR %q %s", in.getenv("TMPDIR"), reason), "set TMPDIR to a directory of its own, or unset it to use /tmp")
}
