package main

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// mechanisms are what this system can confine with, the strongest first.
var mechanisms = []mechanism{
	{"bwrap", (*inputs).bubblewrap, (*inputs).start, findBwrap, whyBwrap},
	{"landlock", (*inputs).landlock, (*inputs).start, findLandlock, nil},
}

// native is what the mechanisms of this system need.
type native struct {
	helper  bwrap.Helper
	plan    bwrap.Plan
	ruleset landlock.Ruleset // Landlock's own, or the layer inside bubblewrap
	filter  harden.Options
}

func (in *inputs) bubblewrap() backend {
	fail := func(err error) backend { return backend{err: err} }
	helper, err := bwrap.Find(in.opts.bwrap)
	if err != nil {
		return fail(bwrapError(err))
	}
	if err := in.checkHelper(helper.Path); err != nil {
		return fail(err)
	}
	if d := in.resolved.Decide("/proc"); d.Access == policy.None {
		return fail(withHint(fmt.Errorf("what runs inside is started through /proc, which denied root %q hides", d.Root.Path), "pass --backend landlock, which denies it"))
	}
	held, err := harden.Permitted()
	if err != nil {
		return fail(err)
	}
	abi, err := landlock.ABI()
	if err != nil {
		abi = 0 // bwrap.New then does with a pid namespace what the layer would do
	}
	host := bwrap.Host{Privileged: held != 0, Layered: abi > 0, Isolate: in.opts.isolate, Unsupervised: in.opts.exec, Private: in.private, Replaceable: hostfs.FS{}.Replaceable, Protect: in.protect(helper)}
	if host.Privileged {
		// CAP_SETPCAP goes to the inner stage, which drops it.
		for _, c := range harden.Within(append(slices.Clone(harden.Kept), harden.SetPCap), held) {
			host.Keep = append(host.Keep, c.Name)
		}
	}
	for _, file := range bwrap.ControlFiles {
		if !harden.OwnsKernelFiles(held) {
			break // nobody else can open them for writing
		}
		if unix.Access(file, unix.F_OK) == nil {
			host.ControlFiles = append(host.ControlFiles, file)
		}
	}
	plan, err := bwrap.New(in.resolved, host)
	if err != nil {
		return fail(err)
	}
	if in.opts.exec && len(plan.Create) > 0 {
		flag := "--exec"
		if in.opts.execArgv {
			flag = "--exec-argv"
		}
		return fail(withHint(fmt.Errorf("%s: nobody would remove the mount point %q again", flag, plan.Create[0].Path), "create it first, or leave out "+flag))
	}
	b := backend{enforcement: filtered(plan.Enforcement), skipped: plan.Skipped, native: native{helper: helper, plan: plan}}
	// Where no Landlock domain forbids to mount, a new user namespace would
	// bring the right back.
	b.filter = harden.Options{Privileged: host.Privileged, Keyrings: in.opts.isolate, NoUserNS: in.opts.isolate || abi == 0}
	if abi > 0 {
		b.ruleset = landlock.Inside(in.resolved, abi, in.opts.isolate, in.private)
	}
	if err := in.logs(&b.ruleset, abi); err != nil {
		return fail(err)
	}
	return b
}

// filtered adds to what a mechanism leaves open that this build has no system call
// filter, where it has none.
func filtered(e policy.Enforcement) policy.Enforcement {
	if !harden.HasFilter {
		e.Gaps = append(e.Gaps, policy.GapSystemCalls)
	}
	return e
}

// protect lists the files that decide what the next run may do.
func (in *inputs) protect(helper bwrap.Helper) []bwrap.Protected {
	list := []bwrap.Protected{{Path: helper.Path, ID: helper.ID}}
	for _, own := range ownPrograms() {
		if info, err := (hostfs.FS{}).Lstat(own); err == nil && info.Kind == policy.File {
			list = append(list, bwrap.Protected{Path: own, ID: info.ID})
		}
	}
	for _, f := range in.files {
		list = append(list, bwrap.Protected{Path: f.path, ID: f.id})
	}
	return slices.DeleteFunc(list, func(p bwrap.Protected) bool {
		// What the caller could not change, the command cannot either.
		return !hostfs.CanReplace(p.Path)
	})
}

func (in *inputs) landlock() backend {
	hint := "use bubblewrap"
	switch {
	case in.opts.byDefault:
		hint = "use bubblewrap, or pass --isolate-processes=false --die-with-parent=false to go without what the profile brings"
	case !in.opts.isolate && !in.opts.exec:
		hint = "pass --supervise, or use bubblewrap"
	}
	if in.opts.supervise && !in.opts.isolate {
		// The supervisor keeps the rest.
	} else if err := in.opts.kept(hint); err != nil {
		return backend{err: err}
	}
	abi, err := landlock.ABI()
	if err != nil {
		return backend{err: landlockError(err)}
	}
	held, err := harden.Permitted()
	if err != nil {
		return backend{err: err}
	}
	resolved, err := in.shared()
	if err != nil {
		return backend{err: err}
	}
	rs, err := landlock.New(resolved, landlock.Host{
		ABI: abi, List: landlock.List, Privileged: harden.OwnsKernelFiles(held), MaxSiblings: in.opts.maxSiblings,
	})
	if errors.Is(err, landlock.ErrSiblings) {
		err = withHint(err, "raise --max-siblings, or use bubblewrap")
	}
	if err != nil {
		return backend{err: err}
	}
	if err := in.logs(&rs, abi); err != nil {
		return backend{err: err}
	}
	return backend{
		enforcement: filtered(in.open(rs.Enforcement)), skipped: rs.Skipped, warnings: in.changeable("Landlock"),
		native: native{ruleset: rs, filter: harden.Options{Privileged: held != 0}},
	}
}

// logs has a domain logged, where that was asked for.
func (in *inputs) logs(rs *landlock.Ruleset, abi int) error {
	if in.opts.auditDenials && abi < landlock.LogABI {
		return withHint(fmt.Errorf("--audit-denials needs Landlock ABI %d, and this kernel has %d", landlock.LogABI, abi), "Linux 6.15 and later have it; or leave out --audit-denials")
	}
	rs.Log = in.opts.auditDenials
	return nil
}

// landlockError explains why the kernel would not say which Landlock it has.
func landlockError(err error) error {
	switch {
	case errors.Is(err, unix.ENOSYS):
		return withHint(landlock.ErrABI, "use Linux 5.13 or later, built with CONFIG_SECURITY_LANDLOCK=y; in a container, let its seccomp profile allow the landlock_* system calls")
	case errors.Is(err, unix.EOPNOTSUPP):
		//lint:ignore ST1005 Landlock is a name
		return withHint(errors.New("Landlock was not enabled at boot"), "add landlock to the list lsm= on the kernel's command line, and boot again")
	case errors.Is(err, unix.EPERM):
		return withHint(errors.New("a seccomp filter forbids Landlock"), "let the container's seccomp profile allow the landlock_* system calls: docker run --security-opt seccomp=PROFILE")
	}
	return err
}
