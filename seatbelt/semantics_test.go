package seatbelt_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/seatbelt"
)

// model is the one rule, written for these tests as a precedence list. It shares
// nothing with package policy but the type of the question.
type model struct {
	p    policy.Policy
	kind fakeFS
}

// ups maps every path that the tests ask about to the directory above it.
var ups = map[string]string{
	"/": "/", "/free": "/", "/new": "/", "/a": "/", "/ab": "/", "/abc": "/",
	"/a/b": "/a", "/a/d": "/a", "/a/bc": "/a", "/a/new": "/a", "/ab/new": "/ab",
	"/a/b/c": "/a/b", "/a/b/new": "/a/b", "/a/d/new": "/a/d",
	"/a/b/c/new": "/a/b/c", "/a/b/c/new/x": "/a/b/c/new",
}

func up(path string) string {
	dir, ok := ups[path]
	if !ok {
		panic("no directory above " + path)
	}
	return dir
}

// below reports whether path is root or lies beneath it.
func below(root, path string) bool {
	for ; path != root; path = up(path) {
		if path == "/" {
			return false
		}
	}
	return true
}

func (m model) missing(path string) bool {
	for root, kind := range m.kind {
		if kind == policy.Missing && below(root, path) {
			return true
		}
	}
	return false
}

// access answers with 0 for nothing, 1 for read, 2 for read and write. The first
// entry of the list that applies decides; a missing base or writable root is no
// root.
func (m model) access(path string) int {
	for at := path; ; at = up(at) {
		switch {
		case slices.Contains(m.p.Denied, at):
			return 0
		case slices.Contains(m.p.Writable, at) && !m.missing(at):
			return 2
		case slices.Contains(m.p.ReadOnly, at) && !slices.Contains(m.p.Writable, at):
			return 1
		case at != "/":
			continue
		}
		break
	}
	for _, base := range m.p.BaseWritable {
		if below(base, path) && !m.missing(base) {
			return 2
		}
	}
	if m.p.RestrictWrites {
		return 1
	}
	return 2
}

// guarded reports whether a denied or readonly root lies beneath path.
func (m model) guarded(path string) bool {
	for _, root := range slices.Concat(m.p.Denied, m.p.ReadOnly) {
		if root != path && below(path, root) {
			return true
		}
	}
	return false
}

// entry reports whether the directory entry of path may change: removed,
// renamed, or replaced by another.
func (m model) entry(path string) bool {
	return m.access(path) == 2 && m.access(up(path)) == 2 && !m.guarded(path)
}

// create differs from entry where nothing is yet: a directory above a missing
// root may be made.
func (m model) create(path string) bool {
	return m.access(path) == 2 && m.access(up(path)) == 2 && (m.missing(path) || !m.guarded(path))
}

var (
	treeRoots = []string{"/", "/a", "/ab", "/a/b", "/a/b/c", "/a/d"}
	probes    = append([]string{"/new", "/a/new", "/ab/new", "/a/b/new", "/a/b/c/new", "/a/d/new", "/a/b/c/new/x", "/abc", "/a/bc"}, treeRoots...)
)

const treePolicies = 5 * 5 * 5 * 5 * 5 * 5 * 2 // six roots in one of five lists or none, with and without restrictWrites

// treePolicy returns the nth policy over the small tree.
func treePolicy(n int) policy.Policy {
	p := policy.Policy{RestrictWrites: n%2 == 1}
	n /= 2
	for _, root := range treeRoots {
		switch n % 5 {
		case 1:
			p.BaseWritable = append(p.BaseWritable, root)
		case 2:
			p.Denied = append(p.Denied, root)
		case 3:
			p.ReadOnly = append(p.ReadOnly, root)
		case 4:
			p.Writable = append(p.Writable, root)
		}
		n /= 5
	}
	return p
}

// Every policy over the small tree, on three shapes of it; on the first under both
// readings of the precedence of operations. Under the race detector, which has
// nothing to find here and makes it take minutes, every eleventh.
func TestSemantics(t *testing.T) {
	shapes := []struct {
		name string
		fs   fakeFS
	}{
		{"directories", nil},
		{"files", fakeFS{"/ab": policy.File, "/a/b/c": policy.Other, "/a/d": policy.File}},
		{"missing", fakeFS{"/a/b": policy.Missing, "/a/b/c": policy.Missing, "/ab": policy.Missing}},
	}
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			judged := 0
			for n := 0; n < treePolicies; n += stride {
				if t.Failed() {
					break
				}
				p := treePolicy(n)
				r, err := policy.Resolve(p, shape.fs)
				if slices.Contains(p.Denied, "/") {
					if !errors.Is(err, policy.ErrDeniedRoot) {
						t.Fatalf("Resolve of a denied / = %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("Resolve(%+v): %v", p, err)
				}
				plan, err := seatbelt.Profile(r)
				if err != nil {
					t.Fatalf("Profile(%+v): %v", p, err)
				}
				s := evaluate(t, plan, shape.fs)
				judge(t, s, model{p, shape.fs}, plan)
				if s.Flat = shape.fs == nil; s.Flat {
					judge(t, s, model{p, shape.fs}, plan)
				}
				judged++
			}
			if want := treePolicies / 5 * 4; stride == 1 && judged != want && !t.Failed() {
				t.Errorf("judged %d policies, want %d", judged, want)
			}
		})
	}
}

// judge compares one evaluated profile with the model on every probe.
func judge(t *testing.T, s *sim.SBPL, m model, plan seatbelt.Plan) {
	t.Helper()
	check := func(what, path string, got sim.Verdict, want bool) {
		if (got == sim.VerdictAllow) != want || got == sim.VerdictAmbiguous {
			t.Errorf("%s(%q) = %v, want allowed %v (flat %v)\n%+v\n%s%q", what, path, got, want, s.Flat, m.p, plan.Text, plan.Params)
		}
	}
	for _, path := range probes {
		access := m.access(path)
		check("Read", path, s.Read(path), access >= 1)
		check("Write", path, s.Write(path), access == 2)
		check("Connect", path, s.Connect(path), access >= 1)
		check("Exec", path, s.Decide("process-exec*", path), access >= 1)
		check("Clone", path, s.Decide("file-clone", path), access >= 1)
		check("Link", path, s.Link(path, "/free"), access == 2 && m.create("/free"))
		check("Chmod", path, s.Decide("file-write-mode", path), access == 2)
		check("List", path, s.List(path), access >= 1)
		if !slices.Contains(m.p.Denied, path) || m.access(up(path)) > 0 {
			// Whether a denied root inside another one can be seen is left open.
			check("Stat", path, s.Stat(path), access >= 1 || m.seen(path))
		}
		if path == "/" {
			continue // the kernel refuses to remove or to make it
		}
		check("Create", path, s.Create(path), m.create(path))
		check("Unlink", path, s.Unlink(path), m.entry(path))
		check("Rename from", path, s.Rename(path, "/free"), m.entry(path) && m.create("/free"))
		check("Rename to", path, s.Rename("/free", path), m.entry("/free") && m.create(path))
		if access < 2 {
			check("Write, other spelling", path, s.Write("/System/Volumes/Data"+path), false)
		}
		if access == 0 {
			check("Read, other spelling", path, s.Read("/System/Volumes/Data"+path), false)
		}
	}
}

// seen reports whether path may be seen though it is denied, as a denied root or
// a directory above a carve-out. The backends differ here.
func (m model) seen(path string) bool {
	if slices.Contains(m.p.Denied, path) {
		return true
	}
	for _, root := range slices.Concat(m.p.ReadOnly, m.p.Writable) {
		if below(path, root) && m.access(root) > 0 {
			return true
		}
	}
	return false
}

// The model has to be right by itself: a few policies whose meaning is written
// out.
func TestModel(t *testing.T) {
	m := model{p: policy.Policy{
		BaseWritable: []string{"/a"}, Denied: []string{"/a/b"}, Writable: []string{"/a/b/c"}, RestrictWrites: true,
	}}
	want := map[string]string{
		"/": "1--", "/a": "2--", "/ab": "1--", "/a/b": "0--", "/a/b/c": "2--", "/a/b/c/new": "2ec", "/a/d": "2ec",
	}
	for path, want := range want {
		got := fmt.Sprint(m.access(path))
		for _, c := range []struct {
			yes  bool
			mark string
		}{{m.entry(path), "e"}, {m.create(path), "c"}} {
			if c.yes {
				got += c.mark
			} else {
				got += "-"
			}
		}
		if got != want {
			t.Errorf("model of %q = %s, want %s", path, got, want)
		}
	}
}

// Profile keeps no state: profiles made at once come out as they do alone.
func TestConcurrent(t *testing.T) {
	r := resolve(t, goldenCases[1].p, goldenCases[1].fs)
	want, _ := seatbelt.Profile(r)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got, _ := seatbelt.Profile(r); got.Text != want.Text || !slices.Equal(got.Params, want.Params) {
				t.Error("profiles of one policy differ")
			}
		})
	}
	wg.Wait()
}
