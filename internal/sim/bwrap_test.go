package sim_test

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

func hostTree() *sim.Tree {
	return sim.NewTree().
		Dirs("/a/b/c", "/a/d", "/ab", "/dev", "/proc/sys", "/sys").
		Files("/a/f").
		Add(policy.Device, "/a/disk").
		Link("/l", "/a").
		Mounts("/mnt")
}

// A want is "r" or "-" for reads, "w" or "-" for writes, and "v" where a write
// vanishes: "r--", "rw-", "--v".
func state(v sim.View, path string) string {
	out := []byte("---")
	read, write := v.Access(path)
	if read {
		out[0] = 'r'
	}
	if write {
		out[1] = 'w'
	}
	if v.Void(path) {
		out[2] = 'v'
	}
	return string(out)
}

func TestBwrap(t *testing.T) {
	tests := []struct {
		name, argv string
		want       map[string]string
	}{
		{
			"without a bind the root is a tmpfs", "--tmpfs /x",
			map[string]string{"/": "--v", "/a": "--v", "/x/y": "--v"},
		},
		{
			"bind of / shows and writes all of it", "--bind / /",
			map[string]string{"/": "rw-", "/a/b": "rw-", "/mnt/x": "rw-"},
		},
		{
			"ro-bind is recursive", "--ro-bind / /",
			map[string]string{"/": "r--", "/a/b": "r--", "/mnt": "r--", "/mnt/x": "r--"},
		},
		{
			"remount-ro leaves what the host has mounted below", "--bind / / --remount-ro /",
			map[string]string{"/": "r--", "/a/b": "r--", "/mnt": "rw-", "/mnt/x": "rw-", "/mntx": "r--"},
		},
		{
			"remount-ro leaves a later mount below", "--bind / / --bind /a/b /a/b --remount-ro /",
			map[string]string{"/a": "r--", "/a/b": "rw-", "/a/b/c": "rw-"},
		},
		{
			"writable bind inside a read-only one", "--ro-bind / / --bind /a/b /a/b",
			map[string]string{"/a": "r--", "/a/b": "rw-", "/a/b/x": "rw-", "/a/bx": "r--"},
		},
		{
			"tmpfs hides, and a write to it vanishes", "--bind / / --tmpfs /a",
			map[string]string{"/a": "--v", "/a/b/c": "--v", "/a/x": "--v", "/ab": "rw-", "/": "rw-"},
		},
		{
			"sealed tmpfs hides and refuses", "--bind / / --tmpfs /a --remount-ro /a",
			map[string]string{"/a": "---", "/a/b/c": "---", "/ab": "rw-"},
		},
		{
			"bind into a tmpfs shows the host again", "--bind / / --tmpfs /a --ro-bind /a/b /a/b --bind /a/b/c /a/b/c --remount-ro /a",
			map[string]string{"/a": "---", "/a/d": "---", "/a/b": "r--", "/a/b/x": "r--", "/a/b/c": "rw-"},
		},
		{
			"directories made for a mount point hold nothing of the host", "--bind / / --tmpfs /a --bind /a/b/c /a/b/c --remount-ro /a",
			map[string]string{"/a": "---", "/a/b": "---", "/a/b/x": "---", "/a/b/c": "rw-"},
		},
		{
			"a bind shows the host and not what stood before it", "--bind / / --tmpfs /a/b --bind /a /a",
			map[string]string{"/a/b": "rw-", "/a/b/c": "rw-"},
		},
		{
			"a tmpfs covers earlier binds below it", "--bind / / --bind /a/b /a/b --tmpfs /a --remount-ro /a",
			map[string]string{"/a/b": "---", "/a/b/c": "---"},
		},
		{
			"a bind elsewhere is a second place of the same content", "--ro-bind / / --tmpfs /a/b --remount-ro /a/b --bind /a/b /ab",
			map[string]string{"/a/b": "rw-", "/a/b/c": "rw-", "/ab": "---"},
		},
		{
			"file masked by the null device refuses both", "--bind / / --ro-bind /dev/null /a/f",
			map[string]string{"/a/f": "---", "/a": "rw-"},
		},
		{
			"null device bound with devices takes writes and loses them", "--bind / / --dev-bind /dev/null /a/f",
			map[string]string{"/a/f": "--v"},
		},
		{
			"device node needs dev-bind", "--bind / /",
			map[string]string{"/a/disk": "---"},
		},
		{
			"device node under dev-bind", "--bind / / --dev-bind /a/disk /a/disk",
			map[string]string{"/a/disk": "rw-"},
		},
		{
			"private /dev has the usual nodes and loses the rest", "--ro-bind / / --dev /dev",
			map[string]string{"/dev/null": "rw-", "/dev/tty": "rw-", "/dev/kvm": "--v", "/dev/shm/x": "--v", "/dev/pts/0": "---"},
		},
		{
			"proc is the kernel's own, whose parts can be covered", "--ro-bind / / --proc /proc --ro-bind-try /proc/sys /proc/sys --ro-bind-try /proc/bus /proc/bus",
			map[string]string{"/proc/self": "rw-", "/proc/sys/kernel": "r--"},
		},
		{
			"missing source with -try does nothing", "--ro-bind / / --bind-try /none /a --dev-bind-try /none /a",
			map[string]string{"/a": "r--"},
		},
		{
			"dir makes nothing that is there, and a directory in a tmpfs", "--ro-bind / / --dir /a --tmpfs /ab --perms 0700 --dir /ab/x/y",
			map[string]string{"/a": "r--", "/ab/x/y": "--v"},
		},
		{
			"bind by descriptor shows what it was opened for", "--ro-bind / / --bind-fd 7 /a/b --ro-bind-fd 8 /a/b/c",
			map[string]string{"/a": "r--", "/a/b": "rw-", "/a/b/c": "r--"},
		},
		{
			"options that are not about files", "--unshare-user --unshare-pid --die-with-parent --cap-drop ALL --cap-add CAP_KILL " +
				"--setenv A --tmpfs --seccomp 9 --chdir /a --perms 0755 --size 4096 --tmpfs /ab --ro-bind / / -- --nonsense",
			map[string]string{"/ab": "r--"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := sim.Bwrap(strings.Fields(tt.argv), hostTree(), map[int]string{7: "/a/b", 8: "/a/b/c"})
			if err != nil {
				t.Fatal(err)
			}
			for path, want := range tt.want {
				if got := state(v, path); got != want {
					t.Errorf("state(%q) = %s, want %s", path, got, want)
				}
			}
		})
	}
}

func TestBwrapRefuses(t *testing.T) {
	tests := []struct{ name, argv, want string }{
		{"an option it does not know", "--bind / / --overlay-src /a", `unknown option "--overlay-src"`},
		{"the command without a --", "--bind / / true", `unknown option "true"`},
		{"an option without its arguments", "--bind /", "takes 2 arguments"},
		{"a source that is missing", "--bind / / --bind /none /a", "no such source"},
		{"a source through a symlink", "--bind / / --bind /l/b /a/b", "through a symlink"},
		{"a source that is a symlink", "--bind / / --bind /l /a", "is a symlink"},
		{"a mount point that is a symlink", "--bind / / --tmpfs /l", "is a symlink"},
		{"a path that is not canonical", "--bind / / --tmpfs /a/", "not canonical"},
		{"a path with ..", "--bind / / --tmpfs /a/../ab", "not canonical"},
		{"a mount point that would be made on the host", "--bind / / --tmpfs /a/new", "on the host"},
		{"a missing mount point on a read-only mount", "--ro-bind / / --tmpfs /a/new", "on a read-only mount"},
		{"a missing mount point in a sealed tmpfs", "--bind / / --tmpfs /a --remount-ro /a --bind /a/b /a/b", "in a sealed tmpfs"},
		{"a directory over a file", "--bind / / --bind /a/b /a/f", "mount point is a file"},
		{"a tmpfs over a file", "--bind / / --tmpfs /a/f", "mount point is a file"},
		{"a file over a directory", "--bind / / --bind /a/f /a/d", "mount point is a directory"},
		{"a mount point below a file", "--bind / / --tmpfs /a/f/x", "through a file"},
		{"dir over a file", "--bind / / --dir /a/f", "not a directory"},
		{"remount-ro of what is no mount point", "--bind / / --remount-ro /a", "not a mount point"},
		{"remount-ro of a mount that is covered", "--bind / / --tmpfs /a/b --tmpfs /a --remount-ro /a/b", "is covered"},
		{"perms before an option that makes nothing", "--perms 0755 --bind / /", "--perms or --size before it"},
		{"perms at the end", "--bind / / --perms 0755", "is last"},
		{"perms that are not octal", "--perms 9 --tmpfs /a", "invalid syntax"},
		{"perms given twice", "--perms 0700 --perms 0755 --tmpfs /x", "--perms or --size before it"},
		{"size before dir", "--size 10 --dir /a", "--perms or --size before it"},
		{"a descriptor that is not open", "--bind / / --bind-fd 5 /a", "descriptor 5 is not open"},
		{"arguments by descriptor, which are to be read first", "--args 5", `unknown option "--args"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := sim.Bwrap(strings.Fields(tt.argv), hostTree(), nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Bwrap(%s) error = %v, want one with %q", tt.argv, err, tt.want)
			}
		})
	}
}

func TestViewNames(t *testing.T) {
	argv := "--bind / / --bind /a /a --tmpfs /a/b --bind /a/b/c /a/b/c --remount-ro /a/b --ro-bind /a/d /ab"
	v, err := sim.Bwrap(strings.Fields(argv), hostTree(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, shows           string
		write, point, visible bool
	}{
		{"/", "/", true, true, true},
		{"/a", "/a", true, true, true},
		{"/a/d", "/a/d", true, false, true},
		{"/a/disk", "/a/disk", false, false, true},
		{"/a/none", "/a/none", true, false, false},
		{"/a/b", "", false, true, true},
		{"/a/b/none", "", false, false, false},
		{"/a/b/c", "/a/b/c", true, true, true},
		{"/ab", "/a/d", false, true, true},
		{"/ab/x", "/a/d/x", false, false, false},
	} {
		if got, write := v.Shows(tt.path); got != tt.shows || write != tt.write {
			t.Errorf("Shows(%q) = %q, %v, want %q, %v", tt.path, got, write, tt.shows, tt.write)
		}
		if got := v.IsMountPoint(tt.path); got != tt.point {
			t.Errorf("IsMountPoint(%q) = %v, want %v", tt.path, got, tt.point)
		}
		if got := v.Visible(tt.path); got != tt.visible {
			t.Errorf("Visible(%q) = %v, want %v", tt.path, got, tt.visible)
		}
	}
}
