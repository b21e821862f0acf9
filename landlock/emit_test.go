package landlock_test

import (
	"cmp"
	"slices"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// emit makes the rules for a policy on a small tree with the kernel's own directories.
func emit(t *testing.T, p policy.Policy, change func(*landlock.Host)) (landlock.Ruleset, error) {
	t.Helper()
	tree := sim.NewTree().Dirs("/w/d/own", "/w/o", "/dev/snd", "/proc/1", "/sys/kernel").Files("/w/f").Add(policy.Device, "/dev/null", "/w/tty")
	host := landlock.Host{ABI: 7, List: lister(tree), MaxSiblings: 100}
	if change != nil {
		change(&host)
	}
	r, err := policy.Resolve(p, tree)
	if err != nil {
		t.Fatal(err)
	}
	return landlock.New(r, host)
}

// rules are the rules where there is no error.
func rules(t *testing.T, p policy.Policy, change func(*landlock.Host)) landlock.Ruleset {
	t.Helper()
	rs, err := emit(t, p, change)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// granted are the rights of the rules whose path is exactly this.
func granted(rs landlock.Ruleset, path string) (rights landlock.Rights, ok bool) {
	for _, g := range rs.Grants {
		if g.Path == path {
			rights, ok = rights|g.Rights, true
		}
	}
	return rights, ok
}

// TestOwnProcesses: what a user writes below /proc is about that user's processes; what
// uid 0 writes there steers the kernel.
func TestOwnProcesses(t *testing.T) {
	root := func(h *landlock.Host) { h.Privileged = true }
	for _, tt := range []struct {
		name   string
		p      policy.Policy
		change func(*landlock.Host)
		want   landlock.Rights
	}{
		{"a user", policy.Policy{RestrictWrites: true}, nil, ll.AccessFSWriteFile},
		{"a user to whom it is denied", policy.Policy{Denied: []string{"/proc"}}, nil, 0},
		{"root", policy.Policy{RestrictWrites: true}, root, 0},
		{"root that writes everything else", policy.Policy{Denied: []string{"/w/d"}}, root, 0},
	} {
		if rights, _ := granted(rules(t, tt.p, tt.change), "/proc"); rights&ll.AccessFSWriteFile != tt.want {
			t.Errorf("%s: rights %#x below /proc, want %#x of writing", tt.name, rights, tt.want)
		}
	}
}

// TestMissingRoots: a path that is not there has no rule, and is reported; where the
// command could make it, the directory above is granted entry by entry.
func TestMissingRoots(t *testing.T) {
	for _, tt := range []struct {
		name    string
		p       policy.Policy
		split   bool // /w has no rule that lets it be extended
		skipped []string
	}{
		{"denied", policy.Policy{Denied: []string{"/w/new"}}, true, []string{"/w/new"}},
		{"denied, with a writable root below it", policy.Policy{Denied: []string{"/w/new"}, Writable: []string{"/w/new/own"}}, true, []string{"/w/new", "/w/new/own"}},
		{"denied where nothing can be made", policy.Policy{Denied: []string{"/w/new"}, Writable: []string{"/w/o"}, RestrictWrites: true}, true, []string{"/w/new"}},
		{"writable", policy.Policy{Writable: []string{"/w/new"}, RestrictWrites: true}, true, []string{"/w/new"}},
		{"none", policy.Policy{Denied: []string{"/w/o"}, Writable: []string{"/w/d"}}, true, nil},
		{"writable where all is", policy.Policy{Denied: []string{"/dev/snd"}, Writable: []string{"/w/new"}}, false, nil},
	} {
		rs := rules(t, tt.p, nil)
		var skipped []string
		for _, r := range rs.Skipped {
			skipped = append(skipped, r.Path)
			if _, ok := granted(rs, r.Path); ok {
				t.Errorf("%s: there is a rule for %q", tt.name, r.Path)
			}
		}
		if !slices.Equal(skipped, tt.skipped) {
			t.Errorf("%s: skipped %q, want %q", tt.name, skipped, tt.skipped)
		}
		if rights, _ := granted(rs, "/w"); (rights&ll.AccessFSMakeReg == 0) != tt.split {
			t.Errorf("%s: rights %#x of /w, want it split: %v", tt.name, rights, tt.split)
		}
	}
}

// TestGuardedAreSorted: they are searched by halves.
func TestGuardedAreSorted(t *testing.T) {
	rs := rules(t, policy.Policy{Denied: []string{"/w/f", "/w/d", "/w/o"}, ReadOnly: []string{"/w/d/own", "/w/tty"}}, nil)
	for name, ids := range map[string][]policy.ID{"guarded": rs.Guarded, "fixed": rs.Fixed} {
		if len(ids) < 4 || !slices.IsSortedFunc(ids, func(a, b policy.ID) int {
			return cmp.Or(cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Ino, b.Ino))
		}) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Errorf("%s: %v, want them sorted, and each once", name, ids)
		}
	}
}

// TestWhatIsNoDirectory: a file's rule has the rights that files have, and a device that
// can be written its ioctls; the root directory lends no write to what the kernel mounts.
func TestWhatIsNoDirectory(t *testing.T) {
	rs := rules(t, policy.Policy{Denied: []string{"/w/d"}, ReadOnly: []string{"/w/f"}}, nil)
	for _, tt := range []struct {
		path       string
		has, hasNo landlock.Rights
	}{
		{"/w/f", ll.AccessFSReadFile, ll.AccessFSWriteFile | ll.AccessFSReadDir | ll.AccessFSMakeReg},
		{"/w/o", ll.AccessFSWriteFile | ll.AccessFSMakeReg | ll.AccessFSReadDir, 0},
		{"/w", 0, ll.AccessFSReadDir | ll.AccessFSReadFile | ll.AccessFSMakeReg},
		{"/", 0, ll.AccessFSWriteFile | ll.AccessFSMakeReg},
		{"/sys", ll.AccessFSReadFile, ll.AccessFSWriteFile | ll.AccessFSMakeReg},
	} {
		if rights, _ := granted(rs, tt.path); rights&tt.has != tt.has || rights&tt.hasNo != 0 {
			t.Errorf("%q: rights %#x, want %#x of them and not %#x", tt.path, rights, tt.has, tt.hasNo)
		}
	}
	for _, tt := range []struct {
		p    policy.Policy
		path string
		want bool
	}{
		{policy.Policy{Writable: []string{"/w/tty"}, RestrictWrites: true}, "/w/tty", true},
		{policy.Policy{Writable: []string{"/w/o"}, ReadOnly: []string{"/w/tty"}}, "/w/tty", false},
		{policy.Policy{Writable: []string{"/w/f"}, RestrictWrites: true}, "/w/f", false},
		{policy.Policy{Writable: []string{"/dev/snd"}, RestrictWrites: true}, "/dev/snd", true},
		{policy.Policy{Denied: []string{"/w/d"}}, "/dev/snd", false},
	} {
		rights, _ := granted(rules(t, tt.p, nil), tt.path)
		if rights&ll.AccessFSIoctlDev != 0 != tt.want {
			t.Errorf("%+v: rights %#x of %q, want ioctls: %v", tt.p, rights, tt.path, tt.want)
		}
	}
}

// TestDevicesBelowTheRootDirectory: a root that is "/" grants no device either.
func TestDevicesBelowTheRootDirectory(t *testing.T) {
	for _, p := range []policy.Policy{{ReadOnly: []string{"/"}}, {Writable: []string{"/"}}, {BaseWritable: []string{"/"}, RestrictWrites: true}} {
		p.Denied = []string{"/w/d"}
		if rights, ok := granted(rules(t, p, nil), "/dev"); !ok || rights != ll.AccessFSReadDir {
			t.Errorf("%+v: rights %#x of /dev, want %#x", p, rights, ll.AccessFSReadDir)
		}
	}
}

// TestListing: what a directory lists is believed only where it has every root, and up
// to a number of entries.
func TestListing(t *testing.T) {
	without := func(dir, name string) func(*landlock.Host) {
		return func(h *landlock.Host) {
			list := h.List
			h.List = func(d string) ([]landlock.Entry, error) {
				entries, err := list(d)
				return slices.DeleteFunc(slices.Clone(entries), func(e landlock.Entry) bool { return d == dir && e.Name == name }), err
			}
		}
	}
	most := func(n int) func(*landlock.Host) { return func(h *landlock.Host) { h.MaxSiblings = n } }
	// Beside /w/d: /dev, /proc, /sys, /w/f, /w/o and /w/tty.
	for _, tt := range []struct {
		name   string
		p      policy.Policy
		change func(*landlock.Host)
		fails  bool
	}{
		{"a root that is not listed", policy.Policy{Denied: []string{"/w/d"}}, without("/w", "d"), true},
		{"a directory on the way to one", policy.Policy{Denied: []string{"/w/d/own"}}, without("/w", "d"), true},
		{"a directory on the way to a missing one", policy.Policy{Denied: []string{"/w/d/new"}}, without("/w", "d"), true},
		{"a missing one", policy.Policy{Denied: []string{"/w/new/er"}}, nil, false},
		{"a file", policy.Policy{Denied: []string{"/w/f"}}, without("/w", "f"), true},
		{"as many entries as may be", policy.Policy{Denied: []string{"/w/d"}}, most(6), false},
		{"one more", policy.Policy{Denied: []string{"/w/d"}}, most(5), true},
	} {
		if _, err := emit(t, tt.p, tt.change); (err != nil) != tt.fails {
			t.Errorf("%s: error %v, want one: %v", tt.name, err, tt.fails)
		}
	}
}
