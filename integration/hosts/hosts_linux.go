package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/letta-confine/letta-confine/landlock"
)

// host is one host to judge.
type host struct {
	name      string
	needsRoot bool // to be made
	boots     bool // a kernel of its own
	run       func(e *env) (map[string]verdict, error)
}

// plainUID is the unprivileged user of every host.
const plainUID = 1000

// hosts are all hosts, in the order of the table.
var hosts = slices.Concat(machine, simulated, containers, bubblewraps, kernels, processors)

// machine is this machine as it is, and in odd states.
var machine = []host{
	{name: "this machine", run: judged("", "")},
	{name: "standard descriptors closed", run: judged("", "-closed")},
	{name: "working directory removed", run: judged("", "-nocwd")},
	{name: "10 descriptors", run: judged("", "-nofile=10")},
	{name: "3 descriptors", run: judged("", "-nofile=3")},
	{name: "files of no size", run: judged("", "-fsize=0")},
	{name: "no locked memory, 64 KiB stack", run: judged("", "-memlock=0 -stack=65536")},
	{name: "one process", run: judged("", "-nproc=1")},
	{name: "64 MiB of addresses", run: judged("", "-as=67108864")},
	{name: "no /proc", needsRoot: true, run: within(hiding("/proc"))},
	{name: "no /dev/null", needsRoot: true, run: within(hiding("/dev"))},
	{name: "chroot", needsRoot: true, run: within(func(e *env) ([]string, error) {
		dir := e.dir + "/chroot"
		return []string{e.self, "enter", "-chroot", dir, "--"}, os.Mkdir(dir, 0o755)
	})},
	{name: "inside bubblewrap", run: around(func(*env) []string {
		return []string{"bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--"}
	})},
	{name: "inside Landlock", run: judged("-domain", "")},
	{name: "inside this launcher, bwrap", run: around(launcher("bwrap"))},
	{name: "inside this launcher, landlock", run: around(launcher("landlock"))},
}

// within judges this machine as it looks to what a command line starts, which
// root makes; the users come inside.
func within(outside func(e *env) ([]string, error)) func(e *env) (map[string]verdict, error) {
	return func(e *env) (map[string]verdict, error) {
		line, err := outside(e)
		if err != nil {
			return nil, err
		}
		return e.each(func(user string) []string {
			return slices.Concat(line, []string{e.self, "sim"}, asUser(user), []string{"--"}, e.judge())
		})
	}
}

// around judges this machine inside a sandbox that the user itself makes.
func around(sandbox func(e *env) []string) func(e *env) (map[string]verdict, error) {
	return func(e *env) (map[string]verdict, error) {
		return e.each(func(user string) []string {
			return slices.Concat([]string{e.self, "sim"}, asUser(user), []string{"--"}, sandbox(e), e.judge())
		})
	}
}

// hiding is this machine with a directory emptied.
func hiding(dir string) func(e *env) ([]string, error) {
	return func(e *env) ([]string, error) { return []string{e.self, "enter", "-hide", dir, "--"}, nil }
}

// launcher is this launcher with a policy under which a judge can work.
func launcher(backend string) func(e *env) []string {
	return func(e *env) []string {
		return []string{e.launcher, "--quiet", "--backend", backend, "--restrict-writes", "--writable", os.TempDir(), "--writable", "/dev/null", "--"}
	}
}

// judge is the command line of the judge on this machine.
func (e *env) judge() []string {
	return []string{e.self, "judge", "-self", e.self, "-launcher", e.launcher}
}

// simulated hosts lack something that this machine has.
var simulated = []host{
	olderHost(1), olderHost(2), olderHost(3), olderHost(4), olderHost(5), olderHost(6),
	{name: "Landlock ENOSYS", run: judged("-landlock=enosys", "")},
	{name: "Landlock EOPNOTSUPP", run: judged("-landlock=eopnotsupp", "")},
	{name: "Landlock EPERM", run: judged("-landlock=eperm", "")},
	{name: "user namespaces EPERM", run: judged("-userns=eperm", "")},
	{name: "user namespaces ENOSPC", run: judged("-userns=enospc", "")},
	{name: "namespaces and mounts EPERM", run: judged("-mounts=eperm", "")},
	{name: "nothing at all", run: judged("-mounts=eperm -landlock=enosys", "")},
}

// olderHost is this machine with an older Landlock.
func olderHost(abi int) host {
	run := judged(fmt.Sprintf("-abi=%d", abi), "")
	return host{name: fmt.Sprintf("Landlock ABI %d", abi), run: func(e *env) (map[string]verdict, error) {
		if has, err := landlock.ABI(); err != nil || has < abi {
			return nil, skip{fmt.Errorf("this kernel has Landlock ABI %d", has)}
		}
		return run(e)
	}}
}

// judged judges this machine for each user, where sim makes another host of it:
// flags for the judge and all that it starts, and flags for the launcher alone.
func judged(flags, through string) func(e *env) (map[string]verdict, error) {
	return func(e *env) (map[string]verdict, error) {
		line := append([]string{e.self, "sim"}, strings.Fields(flags)...)
		return e.each(func(user string) []string {
			return slices.Concat(line, asUser(user), append([]string{"--"}, append(e.judge(), "-through", through)...))
		})
	}
}

// asUser returns the flag of sim for a user.
func asUser(user string) []string {
	if user == "root" {
		return nil
	}
	return []string{"-uid", strconv.Itoa(plainUID)}
}

// each runs one command for each user, and reads the verdicts.
func (e *env) each(line func(user string) []string) (map[string]verdict, error) {
	all := map[string]verdict{}
	for _, user := range users() {
		v, err := e.verdict(line(user))
		if err != nil {
			return all, err
		}
		all[user] = v
	}
	return all, nil
}

// verdict runs a command that ends in the judge.
func (e *env) verdict(line []string) (verdict, error) {
	cmd := e.command(line)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	list := verdicts(stdout.String())
	if len(list) != 1 {
		return verdict{}, fmt.Errorf("no verdict: %v: %s", err, lastLine(stderr.String()+stdout.String()))
	}
	return list[0], nil
}

// command is a process group that ends with the run.
func (e *env) command(line []string) *exec.Cmd {
	cmd := exec.CommandContext(e.ctx, line[0], line[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// verdicts reads those in a text, in order.
func verdicts(text string) (list []verdict) {
	for line := range strings.Lines(text) {
		var v verdict
		if _, after, ok := strings.Cut(line, mark); ok && json.Unmarshal([]byte(after), &v) == nil {
			list = append(list, v)
		}
	}
	return list
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// containers are Docker's, made by crun, in a root with nothing but bubblewrap.
var containers = []host{
	contained("Docker", container{}),
	contained("Docker, SYS_ADMIN", container{caps: []string{"CAP_SYS_ADMIN"}}),
	contained("Docker, seccomp unconfined", container{unconfined: true}),
	contained("Docker, seccomp unconfined, /proc unmasked", container{unconfined: true, unmasked: true}),
	contained("Docker, seccomp unconfined, SYS_ADMIN", container{unconfined: true, caps: []string{"CAP_SYS_ADMIN"}}),
	contained("Docker, unconfined, SYS_ADMIN, unmasked", container{unconfined: true, unmasked: true, caps: []string{"CAP_SYS_ADMIN"}}),
	contained("Docker, read-only root", container{readOnly: true}),
	contained("Docker, seccomp unconfined, no Landlock", container{unconfined: true, noLandlock: true}),
}

func contained(name string, c container) host {
	return host{name: name, needsRoot: true, run: c.run}
}

// bubblewraps are other versions of it, each with the libraries of its release.
var bubblewraps = []host{
	{name: "no bubblewrap", needsRoot: true, run: changed("missing", nil)},
	{name: "a bubblewrap that all may change", needsRoot: true, run: changed("untrusted", func(_ *env, bwrap *file) error {
		bwrap.mode |= 0o002
		return nil
	})},
	{name: "bubblewrap 0.2", needsRoot: true, run: changed("old", func(e *env, bwrap *file) (err error) {
		bwrap.data, err = e.oldBubblewrap()
		return err
	})},
	{name: "bubblewrap 0.4", needsRoot: true, run: rooted("bullseye", "0.4")},
	{name: "bubblewrap 0.8", needsRoot: true, run: rooted("bookworm", "0.8")},
	{name: "bubblewrap 0.12", needsRoot: true, run: rooted("trixie", "0.12")},
	{name: "bubblewrap 0.13", needsRoot: true, run: rooted("forky", "0.13")},
}

// newest matches whatever version is served.
const newest = `([7-9]|[1-9][0-9])\.`

// withAppArmor has AppArmor beside Landlock, whatever the kernel's default is.
const withAppArmor = "lsm=landlock,lockdown,yama,apparmor"

// kernels are booted, each with everything but itself the same.
var kernels = []host{
	booted("Linux 5.10, no Landlock", kernel{suite: "bullseye", version: `5\.10\.`}),
	booted("Linux 6.1, Landlock ABI 2", kernel{suite: "bookworm", version: `6\.1\.`, abi: 2}),
	booted("Linux 6.12, Landlock ABI 6", kernel{suite: "bookworm-security", version: `6\.12\.`, abi: 6}),
	booted("newest Linux", kernel{suite: "trixie-backports", version: newest, abi: anyABI}),
	booted("newest Linux, "+auditOn, kernel{suite: "trixie-backports", version: newest, abi: anyABI, args: auditOn}),
	booted("Landlock not in lsm=", kernel{suite: "bookworm", version: `6\.1\.`, args: "lsm=lockdown,yama"}),
	booted("max_user_namespaces=0", kernel{suite: "bookworm-security", version: `6\.12\.`, abi: 6, args: "sysctl.user.max_user_namespaces=0"}),
	booted("unprivileged_userns_clone=0", kernel{suite: "bookworm-security", version: `6\.12\.`, abi: 6, args: "sysctl.kernel.unprivileged_userns_clone=0"}),
	booted("AppArmor allows user namespaces", kernel{suite: "trixie-backports", version: newest, abi: anyABI, args: withAppArmor, apparmor: "userns"}),
	booted("AppArmor forbids user namespaces", kernel{suite: "trixie-backports", version: newest, abi: anyABI, args: withAppArmor, apparmor: "no-userns"}),
	booted("AppArmor forbids the launcher user namespaces", kernel{suite: "trixie-backports", version: newest, abi: anyABI, args: withAppArmor, apparmor: "launcher"}),
	booted("set-user-id bubblewrap", kernel{suite: "bookworm", version: `6\.1\.`, abi: 2, setuid: true}),
	booted("set-user-id bubblewrap, no user namespaces", kernel{suite: "bookworm-security", version: `6\.12\.`, abi: 6, args: "sysctl.user.max_user_namespaces=0", setuid: true}),
}

// processors are emulated altogether.
var processors = []host{
	booted("arm64, Linux 6.12", kernel{suite: "bookworm-security", version: `6\.12\.`, abi: 6, arch: "arm64"}),
}

func booted(name string, k kernel) host {
	if k.arch == "" {
		k.arch = "amd64"
	}
	return host{name: name, boots: true, run: k.run}
}
