package sim

import (
	"fmt"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
)

// View is the mount name space that a bubblewrap argument vector makes: what a
// command sees at each path, and what its writes reach.
type View struct {
	tree   *Tree
	mounts []mount // in the order in which they were made
}

type mountKind uint8

const (
	host   mountKind = iota // shows a part of the host's tree
	tmpfs                   // new and empty
	proc                    // the kernel's; shows the same as the host's own
	devpts                  // new terminals, in which nothing can be made
)

type mount struct {
	point   string
	kind    mountKind
	source  string // of a host mount: the host's path that point shows
	ro      bool
	deep    bool // whether ro reaches what the host has mounted below source
	devices bool // whether device nodes can be opened

	made map[string]policy.Kind // of a tmpfs: what bwrap made in it
}

// Access reports whether the host's own content of path can be read anywhere in
// the view, and whether a write anywhere in the view reaches it. A path that
// does not exist is asked as what would be made there. A device node on a mount
// that was not made by --dev-bind gives EACCES and counts as neither.
func (v View) Access(path string) (read, write bool) {
	for i, m := range v.mounts {
		if m.kind != host && m.kind != proc {
			continue
		}
		if _, ok := inside(m.source, path); !ok {
			continue
		}
		if v.holder(rebase(path, m.source, m.point)) != i || m.refusesDevice(v.tree, path) {
			continue
		}
		read = true
		write = write || !m.readOnly(v.tree, path)
	}
	return read, write
}

// Void reports whether a write at path would succeed and be lost with the
// sandbox: it is on a tmpfs that is not sealed, or on the null device.
func (v View) Void(path string) bool {
	m := v.mounts[v.holder(path)]
	if m.kind == host && m.source == "/dev/null" && path != "/dev/null" {
		return m.devices && !m.ro
	}
	return m.kind == tmpfs && !m.ro
}

// Shows returns the host's path whose content the view has at path, and whether
// a write there reaches it. The path is "" where there is none, as on a tmpfs.
func (v View) Shows(path string) (hostPath string, write bool) {
	m := v.mounts[v.holder(path)]
	if m.kind == tmpfs || m.kind == devpts {
		return "", false
	}
	hostPath = rebase(path, m.point, m.source)
	return hostPath, !m.readOnly(v.tree, hostPath) && !m.refusesDevice(v.tree, hostPath)
}

// Stat reports whether the view has the host's own entry at path, or would have
// it once it is made.
func (v View) Stat(path string) bool {
	shown, _ := v.Shows(path)
	return shown == path
}

// Entry reports whether the name of path can be made, removed or renamed: its
// directory is the host's own and writable, or can itself be made, and no mount
// point stands at it, neither the view's nor the host's.
func (v View) Entry(path string) bool {
	dir := Above(path)
	shown, write := v.Shows(dir)
	if !write || shown != dir || v.IsMountPoint(path) || v.tree.mounts[path] {
		return false
	}
	kind := v.tree.Kind(dir)
	return kind == policy.Dir || kind == policy.Missing && v.Entry(dir)
}

// IsMountPoint reports whether a mount stands at path and can be reached. The
// kernel refuses to rename or remove such a path (EBUSY).
func (v View) IsMountPoint(path string) bool { return v.mounts[v.holder(path)].point == path }

// Visible reports whether the view has an entry at path, with or without the
// host's content behind it.
func (v View) Visible(path string) bool {
	kind, err := v.kind(path)
	return err == nil && kind != policy.Missing
}

// holder returns the index of the mount that path belongs to: the last one whose
// mount point holds it. An earlier mount at a deeper path has been covered, since
// a mount point is looked up in what is visible when the mount is made.
func (v View) holder(path string) int {
	for i := len(v.mounts) - 1; i > 0; i-- {
		if _, ok := inside(v.mounts[i].point, path); ok {
			return i
		}
	}
	return 0
}

// kind returns what the view has at path. A symlink on the way is an error: the
// plans under test name canonical paths, and following one is not modelled.
func (v View) kind(path string) (policy.Kind, error) {
	parts := components(path)
	kind := policy.Dir
	for i := range parts {
		name := "/" + strings.Join(parts[:i+1], "/")
		switch kind {
		case policy.Symlink:
			return 0, fmt.Errorf("%q leads through a symlink", path)
		case policy.Dir:
		case policy.Missing:
			return policy.Missing, nil
		default:
			return 0, fmt.Errorf("%q leads through a %v", path, kind)
		}
		kind = v.entry(name)
	}
	if kind == policy.Symlink {
		return 0, fmt.Errorf("%q is a symlink", path)
	}
	return kind, nil
}

func (v View) entry(name string) policy.Kind {
	m := v.mounts[v.holder(name)]
	if m.kind == tmpfs || m.kind == devpts {
		if name == m.point {
			return policy.Dir
		}
		return m.made[name]
	}
	source := rebase(name, m.point, m.source)
	if kind, ok := deviceNodes[source]; ok {
		return kind
	}
	return v.tree.Kind(source)
}

func (m mount) readOnly(t *Tree, path string) bool {
	return m.ro && (m.deep || !m.belowHostMount(t, path))
}

func (m mount) belowHostMount(t *Tree, path string) bool {
	for point := range t.mounts {
		_, below := inside(m.source, point)
		_, holds := inside(point, path)
		if below && holds && point != m.source {
			return true
		}
	}
	return false
}

func (m mount) refusesDevice(t *Tree, path string) bool {
	return m.kind == host && !m.devices && (t.Kind(path) == policy.Device || deviceNodes[path] == policy.Device)
}

// deviceNodes are what every host has in /dev, whether the tree says so or not.
var deviceNodes = map[string]policy.Kind{
	"/dev/null": policy.Device, "/dev/zero": policy.Device, "/dev/full": policy.Device,
	"/dev/random": policy.Device, "/dev/urandom": policy.Device, "/dev/tty": policy.Device,
}
