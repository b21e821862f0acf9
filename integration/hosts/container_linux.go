package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// dockerSeccomp is the system call filter of Docker's default container, as data:
// seccomp/default.json of github.com/moby/profiles, seccomp/v0.3.0, under the
// Apache License 2.0 (docs: testdata/README.md).
//
//go:embed testdata/docker-seccomp.json
var dockerSeccomp []byte

// Capabilities and paths of Docker's default container (github.com/moby/moby,
// daemon/pkg/oci/caps/defaults.go and daemon/pkg/oci/defaults.go).
var (
	dockerCaps = []string{
		"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID", "CAP_SETUID",
		"CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL", "CAP_AUDIT_WRITE",
	}
	dockerMasked = []string{
		"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
		"/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap",
	}
	dockerReadOnly = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// container is how a container differs from Docker's default.
type container struct {
	caps       []string // more of them
	unconfined bool     // no system call filter
	unmasked   bool     // all of /proc and /sys
	readOnly   bool     // the root; /tmp is a file system of its own then
	noLandlock bool     // as on a kernel that has none; for an unconfined one
}

type object = map[string]any

// spec returns the container's configuration (OCI runtime specification) for a
// command that a user runs in a root.
func (c container) spec(root string, uid int, argv []string) (object, error) {
	caps := append(slices.Clone(dockerCaps), c.caps...)
	held := caps
	if uid != 0 {
		held = []string{} // and in the bounding set all the same
	}
	mounts := []object{
		{"destination": "/proc", "type": "proc", "source": "proc", "options": []string{"nosuid", "noexec", "nodev"}},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "strictatime", "mode=755"}},
		{"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
		{"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": []string{"nosuid", "noexec", "nodev", "mode=1777"}},
		{"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
	}
	if c.readOnly {
		mounts = append(mounts, object{"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "nodev", "mode=1777"}})
	}
	linux := object{"namespaces": []object{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}}}
	if !c.unmasked {
		linux["maskedPaths"], linux["readonlyPaths"] = dockerMasked, dockerReadOnly
	}
	if c.noLandlock {
		linux["seccomp"] = object{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": []object{{
			"names":  []string{"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"},
			"action": "SCMP_ACT_ERRNO", "errnoRet": int(unix.ENOSYS),
		}}}
	}
	if !c.unconfined {
		filter, err := seccompFor(caps)
		if err != nil {
			return nil, err
		}
		linux["seccomp"] = filter
	}
	return object{
		"ociVersion": "1.0.2",
		"root":       object{"path": root, "readonly": c.readOnly},
		"process": object{
			"user": object{"uid": uid, "gid": uid}, "cwd": "/", "args": argv, "env": []string{"PATH=/usr/bin:/bin", "HOME=/tmp"},
			"capabilities": object{"bounding": caps, "effective": held, "permitted": held},
		},
		"mounts": mounts,
		"linux":  linux,
	}, nil
}

// seccompFor turns Docker's profile into a runtime's: some of its rules depend on
// the architecture and on the capabilities.
func seccompFor(caps []string) (object, error) {
	type condition struct{ Caps, Arches []string }
	var profile struct {
		DefaultAction   string
		DefaultErrnoRet int
		ArchMap         []struct {
			Architecture     string
			SubArchitectures []string
		}
		Syscalls []struct {
			Names              []string
			Action             string
			ErrnoRet           *int
			Args               []any
			Includes, Excludes condition
		}
	}
	if err := json.Unmarshal(dockerSeccomp, &profile); err != nil {
		return nil, err
	}
	holds := func(list []string) func(string) bool {
		return func(s string) bool { return slices.Contains(list, s) }
	}
	var rules []object
	for _, s := range profile.Syscalls {
		lacks := slices.ContainsFunc(s.Includes.Caps, func(c string) bool { return !slices.Contains(caps, c) })
		foreign := len(s.Includes.Arches) > 0 && !slices.Contains(s.Includes.Arches, runtime.GOARCH)
		if lacks || foreign || slices.ContainsFunc(s.Excludes.Caps, holds(caps)) || slices.Contains(s.Excludes.Arches, runtime.GOARCH) {
			continue
		}
		rule := object{"names": s.Names, "action": s.Action}
		if s.ErrnoRet != nil {
			rule["errnoRet"] = *s.ErrnoRet
		}
		if s.Args != nil {
			rule["args"] = s.Args
		}
		rules = append(rules, rule)
	}
	var arches []string
	for _, a := range profile.ArchMap {
		if a.Architecture == map[string]string{"amd64": "SCMP_ARCH_X86_64", "arm64": "SCMP_ARCH_AARCH64"}[runtime.GOARCH] {
			arches = append([]string{a.Architecture}, a.SubArchitectures...)
		}
	}
	if len(arches) == 0 {
		return nil, skip{errors.New("the profile of Docker's containers has no " + runtime.GOARCH)}
	}
	return object{"defaultAction": profile.DefaultAction, "defaultErrnoRet": profile.DefaultErrnoRet, "architectures": arches, "syscalls": rules}, nil
}

func (c container) run(e *env) (map[string]verdict, error) {
	root, err := e.root(base)
	if err != nil {
		return nil, err
	}
	all := map[string]verdict{}
	for uid, user := range map[int]string{0: "root", plainUID: "user"} {
		bundle, err := os.MkdirTemp(e.dir, "container-")
		if err != nil {
			return all, err
		}
		spec, err := c.spec(root, uid, []string{"/usr/bin/hosts", "judge"})
		if err != nil {
			return all, err
		}
		text, err := json.Marshal(spec)
		if err != nil {
			return all, err
		}
		if err := os.WriteFile(filepath.Join(bundle, "config.json"), text, 0o644); err != nil {
			return all, err
		}
		v, err := e.verdict([]string{
			e.self, "enter", "-cgroup", "--", "crun", "--cgroup-manager=disabled", "--root", bundle + "/state", "run", "-b", bundle, filepath.Base(bundle),
		})
		if err != nil {
			return all, err
		}
		all[user] = v
	}
	return all, nil
}

// roots are made once for each release.
var roots sync.Map

// root returns the directory of a root with the bubblewrap of a release.
func (e *env) root(release string) (string, error) {
	return e.rootWith(release, release, func(tree []file) ([]file, error) { return tree, nil })
}

// rootWith returns the directory of such a root after a change, which has a name.
func (e *env) rootWith(name, release string, change func([]file) ([]file, error)) (string, error) {
	made, _ := roots.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		s, err := e.suite(release, runtime.GOARCH)
		if err != nil {
			return "", err
		}
		tree, err := e.tree(s, e.launcher, e.self)
		if err != nil {
			return "", err
		}
		if tree, err = change(tree); err != nil {
			return "", err
		}
		dir := filepath.Join(e.dir, "root-"+name)
		return dir, write(dir, tree)
	}))
	return made.(func() (string, error))()
}

// changed judges this machine's kernel under a root whose bubblewrap is another.
func changed(name string, change func(e *env, bwrap *file) error) func(e *env) (map[string]verdict, error) {
	return func(e *env) (map[string]verdict, error) {
		root, err := e.rootWith(name, base, func(tree []file) ([]file, error) {
			at := slices.IndexFunc(tree, func(f file) bool { return f.path == "usr/bin/bwrap" })
			if at < 0 {
				return nil, errors.New("there is no bubblewrap to change")
			}
			if change == nil {
				return slices.Delete(tree, at, at+1), nil
			}
			return tree, change(e, &tree[at])
		})
		if err != nil {
			return nil, err
		}
		return e.under(root)
	}
}

// under judges this machine's kernel under a root.
func (e *env) under(root string) (map[string]verdict, error) {
	return e.each(func(user string) []string {
		return slices.Concat([]string{e.self, "enter", "-root", root, "--", "/usr/bin/hosts", "sim"}, asUser(user), []string{"--", "/usr/bin/hosts", "judge"})
	})
}

// rooted judges this machine's kernel under the root of a release, as long as that
// has the given version of bubblewrap.
func rooted(release, version string) func(e *env) (map[string]verdict, error) {
	return func(e *env) (map[string]verdict, error) {
		s, err := e.suite(release, runtime.GOARCH)
		if err != nil {
			return nil, err
		}
		deb, err := e.deb(s, "bubblewrap")
		if err != nil {
			return nil, err
		}
		if name := filepath.Base(deb); !strings.HasPrefix(name, "bubblewrap_"+version+".") {
			return nil, skip{fmt.Errorf("%s serves %s", release, name)}
		}
		root, err := e.root(release)
		if err != nil {
			return nil, err
		}
		return e.under(root)
	}
}
