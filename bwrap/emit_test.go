package bwrap_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

func resolve(t *testing.T, p policy.Policy, tree *sim.Tree) policy.Resolved {
	t.Helper()
	r, err := policy.Resolve(p, tree)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPinsWhatTheCallerCanRename: a bind is spent on a directory only if its own
// parent lets the caller rename it.
func TestPinsWhatTheCallerCanRename(t *testing.T) {
	tree := sim.SmallTree().Dirs("/dev/shm", "/proc/sys", "/sys").Dirs("/home/u/.letta/agents")
	r := resolve(t, policy.Policy{Denied: []string{"/home/u/.letta/agents"}}, tree)
	for _, tt := range []struct {
		name string
		can  func(dir string) bool
		want []string
	}{
		{"root", nil, []string{"/home", "/home/u", "/home/u/.letta"}},
		{"a user", func(dir string) bool { return policy.Holds("/home/u", dir) }, []string{"/home/u/.letta"}},
		{"nobody", func(string) bool { return false }, nil},
	} {
		plan, err := bwrap.New(r, bwrap.Host{Layered: true, Replaceable: tt.can})
		if err != nil {
			t.Fatal(err)
		}
		var pins []string
		for i, arg := range plan.Args {
			if arg == "--bind" && plan.Args[i+1] != "/" {
				pins = append(pins, plan.Args[i+1])
			}
		}
		if !slices.Equal(pins, tt.want) {
			t.Errorf("%s: pins %q, want %q", tt.name, pins, tt.want)
		}
	}
}

// TestPrivate: what is private is covered before what is bound below it, and is not
// sealed; another denied root is.
func TestPrivate(t *testing.T) {
	tree := sim.SmallTree().Dirs("/dev/shm", "/proc/sys", "/sys").Dirs("/tmp/work/secret", "/tmp/other")
	r := resolve(t, policy.Policy{
		Denied: []string{"/tmp", "/tmp/work/secret"}, Writable: []string{"/tmp/work"}, RestrictWrites: true,
	}, tree)
	plan, err := bwrap.New(r, bwrap.Host{Layered: true, Private: []string{"/tmp"}})
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Join(plan.Args, " ")
	if want := "--tmpfs /tmp --bind /tmp/work /tmp/work --tmpfs /tmp/work/secret --remount-ro /tmp/work/secret"; !strings.Contains(args, want) {
		t.Errorf("arguments are %s, want %s in them", args, want)
	}
	if strings.Contains(args+" ", "--remount-ro /tmp ") {
		t.Errorf("arguments are %s, and seal what is private", args)
	}
	for path, want := range map[string]bwrap.State{"/tmp": bwrap.Private, "/tmp/work": bwrap.Same, "/tmp/work/secret": bwrap.Masked} {
		if !slices.ContainsFunc(plan.Checks, func(c bwrap.Check) bool { return c.Path == path && c.State == want }) {
			t.Errorf("checks are %v, want %q in state %d", plan.Checks, path, want)
		}
	}
}

// TestTooManyRoots: bubblewrap takes 9,000 arguments, and the error has both
// numbers; 2,000 masks fit.
func TestTooManyRoots(t *testing.T) {
	tree := sim.SmallTree().Dirs("/dev/shm", "/proc/sys", "/sys")
	var p policy.Policy
	p.RestrictWrites = true
	for i := range 5000 {
		dir := fmt.Sprintf("/d%d", i)
		tree.Dirs(dir)
		p.Denied = append(p.Denied, dir)
	}
	if _, err := bwrap.New(resolve(t, p, tree), bwrap.Host{Layered: true}); !errors.Is(err, bwrap.ErrTooMany) || !strings.Contains(err.Error(), "9000") {
		t.Errorf("New with 5000 masks = %v, want %v and the limit", err, bwrap.ErrTooMany)
	}
	p.Denied = p.Denied[:2000]
	plan, err := bwrap.New(resolve(t, p, tree), bwrap.Host{Layered: true})
	if err != nil || len(plan.Args) > 9000 {
		t.Errorf("New with 2000 masks = %d arguments, %v", len(plan.Args), err)
	}
}

// TestCapabilities: a privileged command keeps the named capabilities and no
// other, and gets no user namespace, which would map no uid but root's.
func TestCapabilities(t *testing.T) {
	r := resolve(t, policy.Policy{RestrictWrites: true}, sim.SmallTree().Dirs("/dev/shm", "/proc/sys", "/sys"))
	plan, err := bwrap.New(r, bwrap.Host{Privileged: true, Layered: true, Keep: []string{"CAP_CHOWN", "CAP_KILL"}})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(plan.Args, " ")
	if want := "--cap-drop ALL --cap-add CAP_CHOWN --cap-add CAP_KILL"; !strings.Contains(got, want) || strings.Contains(got, "--unshare-user") {
		t.Errorf("arguments %q, want %q and no user namespace", got, want)
	}
	plan, err = bwrap.New(r, bwrap.Host{Layered: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(plan.Args, " "); !strings.Contains(got, "--unshare-user") || strings.Contains(got, "--cap-") {
		t.Errorf("arguments %q, want a user namespace and no capabilities", got)
	}
}

// TestWithoutLayer: where no Landlock domain keeps the command from processes
// outside, a pid namespace with a /proc of its own does.
func TestWithoutLayer(t *testing.T) {
	r := resolve(t, policy.Policy{RestrictWrites: true}, sim.SmallTree().Dirs("/dev/shm", "/proc/sys", "/sys"))
	plan, err := bwrap.New(r, bwrap.Host{ControlFiles: []string{"/proc/sys"}})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(plan.Args, " ")
	if want := "--unshare-pid --proc /proc --ro-bind-try /proc/sys /proc/sys"; !strings.Contains(got, want) {
		t.Errorf("arguments %q, want %q", got, want)
	}
	if !slices.Contains(plan.Enforcement.Gaps, policy.GapFIFO) {
		t.Errorf("gaps %v, want %s", plan.Enforcement.Gaps, policy.GapFIFO)
	}
}

// TestMissing: what is not there is left out, unless the command could make what the
// policy keeps from it: then it is made, or where a file is in its place, that file stays.
func TestMissing(t *testing.T) {
	base := func() *sim.Tree { return sim.NewTree().Dirs("/w/d", "/dev/shm", "/proc/sys", "/sys").Files("/w/f") }
	for _, tt := range []struct {
		name            string
		p               policy.Policy
		skipped, create []string
		pins            []string
	}{
		{"a writable root", policy.Policy{BaseWritable: []string{"/w"}, ReadOnly: []string{"/w/d"}, Writable: []string{"/w/d/new"}, RestrictWrites: true}, []string{"/w/d/new"}, nil, []string{"/w"}},
		{"a writable root below a denied one", policy.Policy{Denied: []string{"/w/new"}, Writable: []string{"/w/new/own"}}, []string{"/w/new/own"}, []string{"/w/new"}, []string{"/w"}},
		{"a denied root", policy.Policy{Denied: []string{"/w/new"}}, nil, []string{"/w/new"}, []string{"/w"}},
		{"a readonly root", policy.Policy{ReadOnly: []string{"/w/new"}}, nil, []string{"/w/new"}, []string{"/w"}},
		{"a denied root that the command cannot make", policy.Policy{Denied: []string{"/w/new"}, RestrictWrites: true}, []string{"/w/new"}, nil, nil},
		{"a denied root below a file", policy.Policy{Denied: []string{"/w/f/new"}}, []string{"/w/f/new"}, nil, []string{"/w", "/w/f"}},
		{"the same where nothing can be changed", policy.Policy{Denied: []string{"/w/f/new"}, RestrictWrites: true}, []string{"/w/f/new"}, nil, nil},
	} {
		plan, err := bwrap.New(resolve(t, tt.p, base()), bwrap.Host{Layered: true})
		if err != nil {
			t.Fatal(err)
		}
		paths := func(roots []policy.Root) (list []string) {
			for _, r := range roots {
				list = append(list, r.Path)
			}
			return list
		}
		var pins []string
		for i, arg := range plan.Args {
			if arg == "--bind" && strings.HasPrefix(plan.Args[i+1], "/w") {
				pins = append(pins, plan.Args[i+1])
			}
		}
		if got := paths(plan.Skipped); !slices.Equal(got, tt.skipped) {
			t.Errorf("%s: skipped %q, want %q", tt.name, got, tt.skipped)
		}
		if got := paths(plan.Create); !slices.Equal(got, tt.create) {
			t.Errorf("%s: creates %q, want %q", tt.name, got, tt.create)
		}
		if !slices.Equal(pins, tt.pins) {
			t.Errorf("%s: binds %q, want %q", tt.name, pins, tt.pins)
		}
	}
}

// TestPrivateMounts: who may, starts from a mount table of its own.
func TestPrivateMounts(t *testing.T) {
	r := resolve(t, policy.Policy{RestrictWrites: true}, sim.SmallTree())
	for _, privileged := range []bool{true, false} {
		plan, err := bwrap.New(r, bwrap.Host{Layered: true, Privileged: privileged})
		if err != nil || plan.Private != privileged {
			t.Errorf("privileged %v: a mount table of its own %v, %v", privileged, plan.Private, err)
		}
	}
}

// TestEnforcement: what a plan does not keep, and what it keeps too well, is named where
// that is so and nowhere else.
func TestEnforcement(t *testing.T) {
	restricted := policy.Policy{RestrictWrites: true}
	carved := policy.Policy{RestrictWrites: true, Denied: []string{"/w/d"}, ReadOnly: []string{"/w/d/own"}}
	inside := policy.Policy{RestrictWrites: true, Writable: []string{"/w"}, ReadOnly: []string{"/w/d"}}
	beside := policy.Policy{RestrictWrites: true, Denied: []string{"/w/d"}, Writable: []string{"/w/o"}, ReadOnly: []string{"/w/d/own"}}
	for _, tt := range []struct {
		name string
		p    policy.Policy
		h    bwrap.Host
		want string
	}{
		{"a user", restricted, bwrap.Host{Layered: true}, "private-dev devices owners"},
		{"root", restricted, bwrap.Host{Layered: true, Privileged: true}, "private-dev devices late-mounts"},
		{"root that writes everything else", policy.Policy{Denied: []string{"/w/d"}}, bwrap.Host{Layered: true, Privileged: true}, "private-dev devices pinned late-mounts deferred"},
		{"a user who does", policy.Policy{Denied: []string{"/w/d"}}, bwrap.Host{Layered: true}, "private-dev devices pinned owners"},
		{"a missing root", policy.Policy{Denied: []string{"/w/new"}}, bwrap.Host{Layered: true}, "private-dev devices owners"},
		{"without supervisor", restricted, bwrap.Host{Layered: true, Unsupervised: true}, "private-dev devices owners unsupervised"},
		{"isolated", restricted, bwrap.Host{Layered: true, Isolate: true}, "private-dev devices owners processes nested-user-namespaces"},
		{"without a layer", restricted, bwrap.Host{}, "private-dev devices owners processes nested-user-namespaces fifo"},
		{"readonly in a writable default, without a layer", policy.Policy{ReadOnly: []string{"/w/d"}}, bwrap.Host{}, "private-dev devices pinned owners processes nested-user-namespaces fifo"},
		{"readonly in a writable default", policy.Policy{ReadOnly: []string{"/w/d"}}, bwrap.Host{Layered: true}, "private-dev devices pinned owners fifo"},
		{"readonly in a writable root", inside, bwrap.Host{Layered: true}, "private-dev devices pinned owners fifo"},
		{"readonly in a denied root", carved, bwrap.Host{Layered: true}, "private-dev devices pinned pinned owners"},
		{"readonly beside a writable root", beside, bwrap.Host{Layered: true}, "private-dev devices pinned pinned owners"},
	} {
		plan, err := bwrap.New(resolve(t, tt.p, sim.NewTree().Dirs("/w/d/own", "/w/o", "/dev/shm", "/proc/sys", "/sys")), tt.h)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range plan.Enforcement.OverDenials {
			got = append(got, o.Name)
		}
		for _, g := range plan.Enforcement.Gaps {
			got = append(got, string(g))
		}
		if got = append(got, plan.Enforcement.Limits...); strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
