package confine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
)

// StartBubblewrap starts a command in a bubblewrap sandbox, by arguments alone: with
// masks, read-only mounts, the kept capabilities and the system call filter, and
// without what the launcher adds. Nothing looks at the mounts before the command
// runs, which is the gap policy.GapUnchecked: only policy.RequireAny accepts that.
// There is no Landlock layer, and a missing root that would have to be made is refused
// with ErrMissingRoot. Bubblewrap's own failure is an exit status of 1, and nothing of
// the command has run then.
//
// cmd is bubblewrap's afterwards: its Path, Args, Env and ExtraFiles are changed. The
// name of the command as it sees it is cmd.Path; Credential may not be set.
func (s Sandbox) StartBubblewrap(cmd *exec.Cmd) (Report, error) {
	if cmd.Err != nil {
		return Report{}, cmd.Err
	}
	resolved, aliases, err := resolve(s.Policy)
	if err != nil {
		return Report{}, err
	}
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Credential != nil {
		return Report{}, ErrAttributes // the plan is made for this process's rights
	}
	if _, err := check(cmd, resolved, true); err != nil {
		return Report{}, err
	}
	helper, err := bwrap.Find("")
	if err != nil {
		return Report{}, err
	}
	plan, filter, err := planFor(resolved, helper)
	if err != nil {
		return Report{}, fmt.Errorf("bwrap: %w", err)
	}
	if len(plan.Create) > 0 {
		return Report{}, fmt.Errorf("%w: %q", ErrMissingRoot, plan.Create[0].Given)
	}
	report := Report{Backend: "bwrap", Enforcement: plan.Enforcement, Skipped: plan.Skipped}
	report.Enforcement.Gaps = append(report.Enforcement.Gaps, policy.GapUnchecked)
	if err := s.accept(&report, aliases); err != nil {
		return Report{}, err
	}
	return report, startBubblewrap(cmd, helper, plan, filter)
}

// planFor returns bubblewrap's arguments, and the system call filter, for what there
// is: no layer inside, and nobody outside.
func planFor(r policy.Resolved, helper bwrap.Helper) (bwrap.Plan, harden.Options, error) {
	held, err := harden.Permitted()
	if err != nil {
		return bwrap.Plan{}, harden.Options{}, err
	}
	host := bwrap.Host{Privileged: held != 0, Unsupervised: true, Replaceable: hostfs.FS{}.Replaceable}
	for _, c := range harden.Within(harden.Kept, held) {
		host.Keep = append(host.Keep, c.Name)
	}
	for _, file := range bwrap.ControlFiles {
		if harden.OwnsKernelFiles(held) && unix.Access(file, unix.F_OK) == nil {
			host.ControlFiles = append(host.ControlFiles, file)
		}
	}
	if hostfs.CanReplace(helper.Path) {
		host.Protect = []bwrap.Protected{{Path: helper.Path, ID: helper.ID}}
	}
	plan, err := bwrap.New(r, host)
	return plan, harden.Options{Privileged: host.Privileged, NoUserNS: true}, err
}

// startBubblewrap turns cmd into bubblewrap. Its environment is empty, and the
// command's goes with the arguments through a memory file: a variable such as
// LD_LIBRARY_PATH must not make bubblewrap itself load what an earlier command wrote,
// and arguments can be seen by every user of the host.
func startBubblewrap(cmd *exec.Cmd, helper bwrap.Helper, plan bwrap.Plan, o harden.Options) error {
	dir, err := filepath.Abs(cmd.Dir)
	if err != nil {
		return err
	}
	env := cmd.Environ()
	args := append(slices.Clone(plan.Args), "--chdir", dir)
	for _, v := range env {
		if name, value, ok := strings.Cut(v, "="); ok && name != "" {
			args = append(args, "--setenv", name, value)
		}
	}
	give := func(name string, data []byte) (int, *os.File, error) {
		fd, err := launch.Memfd(name, data)
		if err != nil {
			return 0, nil, err
		}
		f := os.NewFile(uintptr(fd), name)
		cmd.ExtraFiles = append(slices.Clip(cmd.ExtraFiles), f)
		return 2 + len(cmd.ExtraFiles), f, nil
	}
	if harden.HasFilter {
		program := harden.Program(o)
		fd, f, err := give("filter", unsafe.Slice((*byte)(unsafe.Pointer(&program[0])), len(program)*unix.SizeofSockFilter))
		if err != nil {
			return err
		}
		defer f.Close()
		args = append(args, "--seccomp", strconv.Itoa(fd))
	}
	fd, f, err := give("args", []byte(strings.Join(args, "\x00")+"\x00"))
	if err != nil {
		return err
	}
	defer f.Close()
	cmd.Args = append([]string{"bwrap", "--args", strconv.Itoa(fd), "--", cmd.Path}, cmd.Args[min(1, len(cmd.Args)):]...)
	cmd.Path, cmd.Env = helper.Path, []string{}
	return cmd.Start()
}
