package bwrap_test

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// hostTree is the small tree on a host that has what bubblewrap needs.
func hostTree(files ...string) *sim.Tree {
	return sim.SmallTree(files...).Dirs("/dev/shm", "/proc/sys", "/sys")
}

// Every well-formed policy over a small tree means in bubblewrap's arguments,
// read by the interpreter, what it means in the model: nothing more can be read
// or written on the host, nothing less, and no write vanishes.
func TestSemantics(t *testing.T) {
	user := bwrap.Host{Layered: true}
	root := bwrap.Host{Privileged: true, Keep: []string{"CAP_CHOWN"}, ControlFiles: []string{"/proc/sys", "/sys"}}
	for _, tt := range []struct {
		name     string
		tree     *sim.Tree
		policies iter.Seq[policy.Policy]
		host     bwrap.Host
	}{
		{"directories, as a user", hostTree(), sim.AllPolicies(), user},
		{"several lists, as root without a layer", hostTree(), sim.OverlappingPolicies(), root},
		{"files, as root without a layer", hostTree("/a/b/c", "/a/d", "/ab"), sim.AllPolicies(), root},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			probes := slices.DeleteFunc(sim.Probes(tt.tree), isKernels)
			count := 0
			for p := range tt.policies {
				count++
				if !compare(t, tt.tree, probes, p, tt.host) {
					t.Fatalf("policy %+v", p)
				}
			}
			t.Logf("%d policies", count)
		})
	}
}

func isKernels(path string) bool {
	return path == "/dev" || path == "/proc" || path == "/sys" || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/")
}

func compare(t *testing.T, tree *sim.Tree, probes []string, p policy.Policy, h bwrap.Host) bool {
	t.Helper()
	r, err := policy.Resolve(p, tree)
	if err != nil {
		t.Errorf("Resolve: %v", err)
		return false
	}
	plan, err := bwrap.New(r, h)
	if err != nil {
		t.Errorf("New: %v", err)
		return false
	}
	view, err := sim.Bwrap(plan.Args, tree, nil)
	if err != nil {
		t.Errorf("%v\nargv %q", err, plan.Args)
		return false
	}
	for _, path := range probes {
		want := sim.Model(p, path)
		read, write := view.Access(path)
		if read != (want >= policy.Read) || write != (want == policy.ReadWrite) {
			t.Errorf("%q: read %v, write %v, want %v\nargv %q", path, read, write, want, plan.Args)
		}
		if view.Void(path) {
			t.Errorf("%q: a write succeeds and vanishes\nargv %q", path, plan.Args)
		}
	}
	checkPins(t, p, r, view)
	return !t.Failed()
}

// checkPins asserts that no directory above a root that restricts can be renamed:
// it is a mount point, or the directory that holds it is not writable.
func checkPins(t *testing.T, p policy.Policy, r policy.Resolved, view sim.View) {
	t.Helper()
	for _, l := range r.Layers() {
		if l.Access == policy.ReadWrite {
			continue
		}
		for dir := l.Root.Path; dir != "/"; dir = dirOf(dir) {
			if sim.Model(p, dirOf(dir)) == policy.ReadWrite && !view.IsMountPoint(dir) {
				t.Errorf("%q, above root %q, can be renamed", dir, l.Root.Path)
			}
		}
	}
}

func dirOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}
