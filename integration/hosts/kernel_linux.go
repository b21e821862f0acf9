package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// machines are how each architecture is emulated.
var machines = map[string]struct {
	emulator string
	args     []string
	console  string
}{
	"amd64": {"qemu-system-x86_64", []string{"-machine", "q35", "-cpu", "max"}, "ttyS0"},
	"arm64": {"qemu-system-aarch64", []string{"-machine", "virt", "-cpu", "max,pauth-impdef=on"}, "ttyAMA0"},
}

// kernel is one that the mirror serves, and how it is booted.
type kernel struct {
	suite   string // with the kernel
	version string // pattern for the version in the package's name
	abi     int    // Landlock's version, 0 for none
	arch    string
	args    string // for the kernel
	setuid  bool   // bubblewrap is set-user-id root

	// apparmor is the policy that is loaded, if any. The compiler is of a later
	// release than bubblewrap in the other guests.
	apparmor string
}

// anyABI is the version of whatever kernel is the newest.
const anyABI = -1

// base is the release whose bubblewrap all guests have.
const base = "bookworm"

// bootLimit is how long a guest may take; emulated and beside others, one takes
// five to ten seconds.
const bootLimit = 4 * time.Minute

func (k kernel) run(e *env) (map[string]verdict, error) {
	s, err := e.suite(k.suite, k.arch)
	if err != nil {
		return nil, err
	}
	deb, err := e.deb(s, "linux-(image|binary)-"+k.version+"[-.+0-9a-z]*-cloud-"+k.arch)
	if err != nil {
		return nil, err
	}
	image, err := e.image(deb)
	if err != nil {
		return nil, err
	}
	disk, err := e.ramdisk(guestKind{k.arch, k.apparmor != ""})
	if err != nil {
		return nil, err
	}
	console, err := e.boot(k, image, disk)
	if err != nil {
		return nil, err
	}
	list := verdicts(console)
	if len(list) != 2 {
		return nil, fmt.Errorf("%d verdicts from the guest: %s", len(list), lastLine(console))
	}
	if abi := list[0].ABI; abi != k.abi && k.abi != anyABI {
		return nil, fmt.Errorf("the kernel %s has Landlock ABI %d, want %d", list[0].Kernel, abi, k.abi)
	}
	return map[string]verdict{"root": list[0], "user": list[1]}, nil
}

// image unpacks the kernel of a package.
func (e *env) image(deb string) (string, error) {
	out := strings.TrimSuffix(deb, ".deb") + ".vmlinuz"
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	files, err := e.unpack(deb, func(path string) bool { return strings.HasPrefix(filepath.Base(path), "vmlinuz") })
	if err != nil {
		return "", err
	}
	if len(files) != 1 {
		return "", fmt.Errorf("%q holds %d kernels", deb, len(files))
	}
	part, err := os.CreateTemp(filepath.Dir(out), "part-") // two hosts may boot one kernel
	if err != nil {
		return "", err
	}
	defer part.Close()
	if _, err := part.Write(files[0].data); err != nil {
		return "", err
	}
	return out, os.Rename(part.Name(), out)
}

// guestKind is what the ramdisk of a guest depends on.
type guestKind struct {
	arch     string
	apparmor bool
}

// ramdisks are made once for each kind of guest.
var ramdisks sync.Map

// ramdisk returns the file of the guests' first root.
func (e *env) ramdisk(kind guestKind) (string, error) {
	arch, release := kind.arch, base
	if kind.apparmor {
		release = "trixie"
	}
	made, _ := ramdisks.LoadOrStore(kind, sync.OnceValues(func() (string, error) {
		launcher, self := e.launcher, e.self
		if arch != runtime.GOARCH {
			launcher, self = e.dir+"/letta-confine-"+arch, e.dir+"/hosts-"+arch
			for out, pkg := range map[string]string{launcher: "cmd/letta-confine", self: "integration/hosts"} {
				if err := e.build(arch, out, pkg); err != nil {
					return "", err
				}
			}
		}
		s, err := e.suite(release, arch)
		if err != nil {
			return "", err
		}
		tree, err := e.tree(s, launcher, self)
		if err != nil {
			return "", err
		}
		tree = append(tree,
			file{path: "init", mode: modeLink | 0o777, data: []byte("usr/bin/hosts")},
			file{path: "dev/console", mode: modeChar | 0o600, dev: 5<<8 | 1})
		if kind.apparmor {
			policy, err := e.policy(s)
			if err != nil {
				return "", err
			}
			tree = append(tree, policy...)
		}
		disk := e.dir + "/ramdisk-" + arch + "-" + release
		return disk, os.WriteFile(disk, cpio(tree), 0o644)
	}))
	return made.(func() (string, error))()
}

// build builds a program of this module for another architecture.
func (e *env) build(arch, out, pkg string) error {
	cmd := exec.CommandContext(e.ctx, "go", "build", "-trimpath", "-tags", "launcher", "-ldflags", "-s -w", "-o", out, "github.com/letta-confine/letta-confine/"+pkg)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s for %s: %w: %s", pkg, arch, err, lastLine(string(text)))
	}
	return nil
}

// boot runs a guest to its end, and returns what its console showed. The guest
// has no disk and no network.
func (e *env) boot(k kernel, image, disk string) (string, error) {
	m := machines[k.arch]
	line := "console=" + m.console + " quiet panic=-1 tsc=reliable no_timer_check mitigations=off " + k.args
	if k.setuid {
		line += " " + setuidVariable + "=1"
	}
	if k.apparmor != "" {
		line += " " + apparmorVariable + "=" + k.apparmor
	}
	args := append([]string{m.emulator}, m.args...)
	args = append(args, "-m", "512", "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot",
		"-kernel", image, "-initrd", disk, "-append", line, "-accel")
	accel := "tcg"
	if k.arch == runtime.GOARCH && e.kvm(args) {
		accel = "kvm"
	}
	return e.emulate(append(args, accel), bootLimit)
}

// kvmLimit is how long the first guest may take on a lent processor, which needs
// two seconds where it is lent in earnest.
const kvmLimit = 8 * time.Second

var kvm struct {
	sync.Once
	usable bool
}

// kvm reports whether the processor can be lent to guests: whether one has run.
func (e *env) kvm(args []string) bool {
	kvm.Do(func() {
		file, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
		if err != nil {
			return
		}
		file.Close()
		_, err = e.emulate(append(args, "kvm"), kvmLimit)
		kvm.usable = err == nil
	})
	return kvm.usable
}

// emulate runs the emulator until the guest turns itself off.
func (e *env) emulate(line []string, limit time.Duration) (string, error) {
	cmd := e.command(line)
	console := &console{stop: func() { cmd.Cancel() }}
	cmd.Stdout, cmd.Stderr = console, console
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = skip{err}
		}
		return "", err
	}
	timer := time.AfterFunc(limit, console.stop)
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("the emulator: %w: %s", err, lastLine(console.text.String()))
	}
	return console.text.String(), nil
}

// console holds what a guest and its emulator say. A processor that is not lent in
// earnest, as on machines that are guests themselves, leaves the emulator waiting.
type console struct {
	text bytes.Buffer
	stop func()
}

func (c *console) Write(p []byte) (int, error) {
	c.text.Write(p)
	if bytes.Contains(c.text.Bytes(), []byte("KVM internal error")) {
		c.stop()
	}
	return len(p), nil
}
