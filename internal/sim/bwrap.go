package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
)

// Bwrap carries out bubblewrap's arguments, up to "--", over a host's tree and
// returns what the command would see. The arguments are those after --args has
// been read; fds maps the descriptors of --bind-fd and --ro-bind-fd to the paths
// that they were opened for, and may be nil.
//
// The options mean what bwrap(1) says and bubblewrap 0.8.0 was seen to do: a
// source is a path of the host as it was before anything was mounted, and a bind
// brings what the host has mounted below it; --ro-bind makes all of that
// read-only and --remount-ro the one mount alone; a mount point that is missing
// is made, in a tmpfs that is still writable. Bwrap fails where bubblewrap does,
// and also
//
//   - on an option that it does not know;
//   - where bubblewrap would make a mount point on the host;
//   - where --remount-ro names a mount that a later one covers: bubblewrap can
//     let that pass, and nothing is sealed;
//   - where a path leads through a symlink.
func Bwrap(argv []string, tree *Tree, fds map[int]string) (View, error) {
	b := bwrap{
		View: View{tree: tree, mounts: []mount{{point: "/", kind: tmpfs, made: map[string]policy.Kind{}}}},
		fds:  fds,
	}
	for i := 0; i < len(argv) && argv[i] != "--"; {
		name := argv[i]
		opt, ok := options[name]
		if !ok {
			return View{}, fmt.Errorf("sim: bwrap: unknown option %q", name)
		}
		if i+opt.args >= len(argv) {
			return View{}, fmt.Errorf("sim: bwrap: %s takes %d arguments", name, opt.args)
		}
		args := argv[i+1 : i+1+opt.args]
		if err := b.option(name, opt, args); err != nil {
			return View{}, fmt.Errorf("sim: bwrap: %s %q: %w", name, args, err)
		}
		i += 1 + opt.args
	}
	if b.perms || b.size {
		return View{}, errors.New("sim: bwrap: --perms or --size is last")
	}
	return b.View, nil
}

type bwrap struct {
	View
	fds         map[int]string
	perms, size bool // given, and waiting for the option that they modify
}

type option struct {
	args   int
	do     func(b *bwrap, args []string) error // nil: says nothing of files
	modify string                              // which of "perms" and "size" may precede it
}

var options = map[string]option{
	"--bind":         {args: 2, do: bind(0)},
	"--bind-try":     {args: 2, do: bind(try)},
	"--ro-bind":      {args: 2, do: bind(readonly)},
	"--ro-bind-try":  {args: 2, do: bind(readonly | try)},
	"--dev-bind":     {args: 2, do: bind(devices)},
	"--dev-bind-try": {args: 2, do: bind(devices | try)},
	"--bind-fd":      {args: 2, do: bind(fromFD)},
	"--ro-bind-fd":   {args: 2, do: bind(fromFD | readonly)},
	"--tmpfs":        {args: 1, do: (*bwrap).tmpfs, modify: "perms size"},
	"--dev":          {args: 1, do: (*bwrap).dev},
	"--proc":         {args: 1, do: (*bwrap).proc},
	"--dir":          {args: 1, do: (*bwrap).dir, modify: "perms"},
	"--remount-ro":   {args: 1, do: (*bwrap).remount},
	"--perms":        {args: 1, do: (*bwrap).setPerms, modify: "size"},
	"--size":         {args: 1, do: (*bwrap).setSize, modify: "perms"},

	"--unshare-all": {}, "--unshare-user": {}, "--unshare-user-try": {}, "--unshare-ipc": {}, "--unshare-pid": {},
	"--unshare-net": {}, "--unshare-uts": {}, "--unshare-cgroup": {}, "--unshare-cgroup-try": {}, "--share-net": {},
	"--disable-userns": {}, "--assert-userns-disabled": {}, "--die-with-parent": {}, "--new-session": {},
	"--as-pid-1": {}, "--clearenv": {},

	"--chdir": {args: 1}, "--cap-add": {args: 1}, "--cap-drop": {args: 1}, "--uid": {args: 1}, "--gid": {args: 1},
	"--hostname": {args: 1}, "--unsetenv": {args: 1}, "--argv0": {args: 1}, "--seccomp": {args: 1},
	"--add-seccomp-fd": {args: 1}, "--info-fd": {args: 1}, "--json-status-fd": {args: 1}, "--sync-fd": {args: 1},
	"--block-fd": {args: 1}, "--userns-block-fd": {args: 1}, "--userns": {args: 1}, "--userns2": {args: 1},
	"--pidns": {args: 1}, "--setenv": {args: 2},
}

func (b *bwrap) option(name string, opt option, args []string) error {
	if b.perms && !strings.Contains(opt.modify, "perms") || b.size && !strings.Contains(opt.modify, "size") {
		return errors.New("does not take the --perms or --size before it")
	}
	if name != "--perms" && name != "--size" {
		b.perms, b.size = false, false
	}
	if opt.do == nil {
		return nil
	}
	return opt.do(b, args)
}

func (b *bwrap) setPerms(args []string) error {
	b.perms = true
	n, err := strconv.ParseUint(args[0], 8, 32)
	if err == nil && n > 0o7777 {
		return strconv.ErrRange
	}
	return err
}

func (b *bwrap) setSize(args []string) error {
	b.size = true
	n, err := strconv.ParseUint(args[0], 10, 63)
	if err == nil && n == 0 {
		return strconv.ErrRange
	}
	return err
}

const (
	try = 1 << iota
	readonly
	devices
	fromFD
)

func bind(flags int) func(*bwrap, []string) error {
	return func(b *bwrap, args []string) error {
		source, err := b.source(args[0], flags)
		if err != nil {
			return err
		}
		kind, ok := deviceNodes[source]
		if !ok {
			on := View{tree: b.tree, mounts: []mount{{point: "/", source: "/"}}}
			if kind, err = on.kind(source); err != nil {
				return err
			}
		}
		if kind == policy.Missing {
			if flags&try != 0 {
				return nil
			}
			return errors.New("no such source")
		}
		return b.mount(kind, mount{
			point: args[1], source: source, devices: flags&devices != 0,
			ro: flags&readonly != 0, deep: flags&readonly != 0,
		})
	}
}

func (b *bwrap) source(arg string, flags int) (string, error) {
	if flags&fromFD == 0 {
		return arg, canonical(arg)
	}
	fd, err := strconv.Atoi(arg)
	if err != nil {
		return "", err
	}
	path, ok := b.fds[fd]
	if !ok {
		return "", fmt.Errorf("descriptor %d is not open", fd)
	}
	return path, canonical(path)
}

func (b *bwrap) tmpfs(args []string) error {
	return b.mount(policy.Dir, mount{point: args[0], kind: tmpfs, made: map[string]policy.Kind{}})
}

func (b *bwrap) proc(args []string) error {
	return b.mount(policy.Dir, mount{point: args[0], kind: proc, source: "/proc"})
}

// dev is a tmpfs with six of the host's devices bound into it, devpts, an empty
// directory shm and links (bwrap(1)). Each device is a mount of its own.
func (b *bwrap) dev(args []string) error {
	if err := b.tmpfs(args); err != nil {
		return err
	}
	at := b.mounts[len(b.mounts)-1]
	under := func(name string) string { return rebase("/"+name, "/", at.point) }
	for source := range deviceNodes {
		point := under(strings.TrimPrefix(source, "/dev/"))
		if err := b.mount(policy.Device, mount{point: point, source: source, devices: true}); err != nil {
			return err
		}
	}
	at.made[under("shm")] = policy.Dir
	for _, name := range []string{"stdin", "stdout", "stderr", "fd", "core", "ptmx"} {
		at.made[under(name)] = policy.Symlink
	}
	return b.mount(policy.Dir, mount{point: under("pts"), kind: devpts})
}

func (b *bwrap) dir(args []string) error {
	kind, err := b.point(args[0], policy.Dir)
	if err == nil && kind != policy.Dir {
		err = errors.New("not a directory")
	}
	return err
}

func (b *bwrap) remount(args []string) error {
	if err := canonical(args[0]); err != nil {
		return err
	}
	m := &b.mounts[b.holder(args[0])]
	if m.point == args[0] {
		m.ro = true
		return nil
	}
	for _, m := range b.mounts {
		if m.point == args[0] {
			return errors.New("the mount is covered")
		}
	}
	return errors.New("not a mount point")
}

// mount puts m in place, over something of its own kind: a directory over a
// directory, anything else over what is not one.
func (b *bwrap) mount(source policy.Kind, m mount) error {
	want := policy.File
	if source == policy.Dir {
		want = policy.Dir
	}
	kind, err := b.point(m.point, want)
	if err != nil {
		return err
	}
	if (kind == policy.Dir) != (want == policy.Dir) {
		return fmt.Errorf("mount point is a %v", kind)
	}
	b.mounts = append(b.mounts, m)
	return nil
}

// point returns what the view has at path, and makes it, with the directories
// above it, in a writable tmpfs where it is missing.
func (b *bwrap) point(path string, want policy.Kind) (policy.Kind, error) {
	if err := canonical(path); err != nil {
		return 0, err
	}
	kind, err := b.kind(path)
	if err != nil || kind != policy.Missing {
		return kind, err
	}
	m := b.mounts[b.holder(path)]
	switch {
	case m.kind != tmpfs && m.ro:
		return 0, errors.New("cannot make the mount point on a read-only mount")
	case m.kind != tmpfs:
		return 0, errors.New("would make the mount point on the host")
	case m.ro:
		return 0, errors.New("cannot make the mount point in a sealed tmpfs")
	}
	parts := components(path)
	for i := len(components(m.point)) + 1; i < len(parts); i++ {
		m.made["/"+strings.Join(parts[:i], "/")] = policy.Dir
	}
	m.made[path] = want
	return want, nil
}

func canonical(path string) error {
	if path != "/"+strings.Join(components(path), "/") {
		return errors.New("path is not canonical")
	}
	for _, name := range components(path) {
		if name == "." || name == ".." {
			return errors.New("path is not canonical")
		}
	}
	return nil
}
