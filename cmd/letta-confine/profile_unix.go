//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/profile"
)

// named adds the policy of --profile, unless letta-code's switch is off.
func (in *inputs) named(p *policy.Policy) error {
	o := in.opts
	if o.profile == "" {
		return nil
	}
	in.about.Profile = o.profile
	if profile.Letta(o.profile) {
		on, err := in.lettaSwitch()
		if err != nil || !on {
			return err
		}
	}
	if o.profile == profile.Workspace && o.who.Workspace == "" {
		if err := in.unplantedChdir(); err != nil {
			return err
		}
	}
	built, err := profile.Build(o.profile, profile.Source{Flags: in.who(), Getenv: in.getenv, Cwd: in.cwd, FS: hostfs.FS{}})
	if err != nil {
		return err
	}
	in.profile = built
	p.Merge(built.Policy)
	if o.profile == profile.MemorySubagent {
		in.unattended()
	}
	return nil
}

// unattended applies what goes without saying for a process that nobody watches:
// it has processes of its own and ends with its caller. Only bubblewrap can do
// that: who asks for another backend by name, or is where there is none, goes
// without, and the report says so.
func (in *inputs) unattended() {
	o := in.opts
	if o.exec || (o.backend != "auto" && o.backend != "bwrap") || runtime.GOOS != "linux" {
		if !o.isolateGiven {
			in.limits = append(in.limits, "processes-shared")
		}
		return
	}
	if !o.isolateGiven {
		o.isolate, o.byDefault = true, true
	}
	if !o.dieGiven {
		o.dieWithParent, o.byDefault = true, true
	}
}

// who is what the flags say of the agent; a path may be relative to the caller.
func (in *inputs) who() profile.Flags {
	f := in.opts.who
	f.AgentsTrees = append([]string(nil), f.AgentsTrees...)
	for _, path := range []*string{&f.MemoryDir, &f.Home, &f.Workspace, &f.IsolationRoot} {
		if *path != "" {
			*path = absolute(*path)
		}
	}
	for i := range f.AgentsTrees {
		f.AgentsTrees[i] = absolute(f.AgentsTrees[i])
	}
	return f
}

func (in *inputs) getenv(name string) string {
	if !slices.Contains(in.asked, name) {
		in.asked = append(in.asked, name)
	}
	value, _ := launch.Getenv(in.env, name)
	return value
}

// lettaSwitch reads LETTA_FS_SANDBOX, which can turn letta-code's two profiles off.
// Asking for a profile is opting in; letta-code's own default, by which shells are
// free where the variable is not set, has to be asked for.
func (in *inputs) lettaSwitch() (on bool, err error) {
	name := "LETTA_FS_SANDBOX"
	if in.opts.who.Layout == profile.MiniLetta {
		name = "MINI_LETTA_FS_SANDBOX"
	}
	value := in.getenv(name)
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "1", "true":
		return true, nil
	case "0", "false":
		in.reason, in.warning = "letta-fs-sandbox-off", fmt.Sprintf("%s=%s turns profile %s off", name, strings.TrimSpace(value), in.opts.profile)
		return false, nil
	case "":
		if !in.opts.honorLettaDefault || in.opts.profile == profile.MemorySubagent {
			return true, nil
		}
		in.reason, in.warning = "letta-default", fmt.Sprintf("%s is not set, and with --honor-letta-default profile %s is off", name, in.opts.profile)
		return false, nil
	}
	return false, withHint(fmt.Errorf("%s is %q", name, value), "set it to 1, true, 0 or false, or unset it")
}

// helpers denies the sockets of programs that would act for the command, where
// they are there: the memory subagent has no use for them.
func (in *inputs) helpers(p *policy.Policy) error {
	if !in.opts.denyHelpers && (in.profile == nil || in.profile.Name != profile.MemorySubagent) {
		return nil
	}
	seen := make(map[string]bool)
	for _, s := range services {
		if strings.HasSuffix(s.service, " agent") {
			continue // it gives out no files
		}
		for _, path := range in.expand(s.pattern) {
			path, err := policy.Canonical(path, hostfs.FS{})
			if err != nil || seen[path] || !isSocket(path) {
				continue
			}
			seen[path] = true
			if err := p.Add(policy.Denied, path); err != nil {
				return err
			}
		}
	}
	return nil
}

func isSocket(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK
}

// temporary decides where the command's temporary files go, where the caller or
// the profile says so, and what else of the profile's has to be there.
func (in *inputs) temporary(*policy.Policy) error {
	dir, flag := "", "--tmpdir"
	if in.opts.tmpdir != "" {
		if in.opts.noTmpdir {
			return usageError("--tmpdir and --no-tmpdir exclude each other")
		}
		dir = absolute(in.opts.tmpdir)
	}
	if in.profile != nil && in.profile.Name == profile.MemorySubagent {
		const hint = "make it yourself, as a directory"
		for _, path := range in.profile.Worktrees {
			if memory := strings.TrimSuffix(path, "-worktrees"); hostfs.Visible(memory) && !hostfs.Visible(path) {
				in.makes = append(in.makes, making{"profile " + in.profile.Name, canonicalOr(path), 0o700, hint})
			}
		}
		for _, memory := range in.profile.Memories {
			if dir == "" && !in.opts.noTmpdir && in.opts.tmp != "private" && hostfs.Visible(memory) {
				dir, flag = memory+"/.tmp", "profile "+in.profile.Name
			}
		}
	}
	if dir == "" {
		return nil
	}
	path, err := policy.Canonical(dir, hostfs.FS{})
	if err != nil {
		return fmt.Errorf("%s: %q: %w", flag, dir, bare(err))
	}
	in.makes = append(in.makes, making{flag, path, 0o700, "make it yourself, as a directory"})
	in.env = setTemp(in.env, path)
	return nil
}

// checkTemporary refuses a directory for temporary files that the command could
// not write to, or that a link would have the launcher make elsewhere.
func (in *inputs) checkTemporary() error {
	for _, m := range in.makes {
		if in.resolved.Decide(m.path).Access != policy.ReadWrite {
			return withHint(fmt.Errorf("%s: %q is not writable under the policy", m.flag, m.path), "name another directory with --tmpdir, or pass --no-tmpdir")
		}
	}
	return nil
}

// printPolicy prints all sources together as a policy file.
func (in *inputs) printPolicy() error {
	text, err := in.printed.AppendJSON(nil)
	if err != nil {
		return err
	}
	if _, err := os.Stdout.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("standard output: %w", errors.Unwrap(err))
	}
	return nil
}
