package policy_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// resolveTree is what the tables below resolve against.
func resolveTree() *sim.Tree {
	t := sim.NewTree().
		Dirs("/h/u/real/sub/deep", "/h/u/other", "/dev/shm", "/proc/sys", "/sys/fs").
		Files("/h/u/file", "/h/u/real/f").
		Add(policy.Device, "/dev/kvm").
		Add(policy.Other, "/h/u/sock").
		Link("/h/u/link", "real").
		Link("/h/u/abs", "/h/u/real").
		Link("/h/u/two", "link/sub").
		Link("/h/u/up", "real/../other").
		Link("/h/u/dangling", "gone/x").
		Link("/h/u/absgone", "/gone/x").
		Link("/h/u/tofile", "file").
		Link("/h/u/slash", "file/").
		Link("/h/u/toslash", "slash").
		Link("/h/u/dot", "file/.").
		Link("/h/u/dirslash", "real/").
		Link("/h/u/toroot", "/").
		Link("/h/u/loop", "loop").
		Link("/h/u/ping", "pong").
		Link("/h/u/pong", "ping")
	for i := range 41 {
		t.Link(fmt.Sprintf("/chain%d", i+1), fmt.Sprintf("chain%d", i))
	}
	return t.Dirs("/chain0").Link("/short", "chain39").Fixed()
}

func TestResolvePath(t *testing.T) {
	tests := []struct {
		name, given, want string
		kind              policy.Kind
		existing          string
	}{
		{"directory", "/h/u/real", "/h/u/real", policy.Dir, "/h/u/real"},
		{"file", "/h/u/file", "/h/u/file", policy.File, "/h/u"},
		{"device", "/dev/kvm", "/dev/kvm", policy.Device, "/dev"},
		{"socket", "/h/u/sock", "/h/u/sock", policy.Other, "/h/u"},
		{"root itself is a link", "/h/u/link", "/h/u/real", policy.Dir, "/h/u/real"},
		{"absolute link", "/h/u/abs", "/h/u/real", policy.Dir, "/h/u/real"},
		{"link in the middle", "/h/u/link/sub", "/h/u/real/sub", policy.Dir, "/h/u/real/sub"},
		{"link through a link", "/h/u/two/deep", "/h/u/real/sub/deep", policy.Dir, "/h/u/real/sub/deep"},
		{".. in a link's text", "/h/u/up", "/h/u/other", policy.Dir, "/h/u/other"},
		{".. after a link is taken from where it led", "/h/u/two/..", "/h/u/real", policy.Dir, "/h/u/real"},
		{".. twice after a link", "/h/u/two/../../other", "/h/u/other", policy.Dir, "/h/u/other"},
		{".. above the root", "/../../h", "/h", policy.Dir, "/h"},
		{"link to the root", "/h/u/toroot/h", "/h", policy.Dir, "/h"},
		{"dangling link counts as its target", "/h/u/dangling", "/h/u/gone/x", policy.Missing, "/h/u"},
		{"dangling link to elsewhere", "/h/u/absgone", "/gone/x", policy.Missing, "/"},
		{"below a dangling link", "/h/u/dangling/y", "/h/u/gone/x/y", policy.Missing, "/h/u"},
		{"trailing slash on a directory", "/h/u/real/", "/h/u/real", policy.Dir, "/h/u/real"},
		{"trailing slash on a link to a directory", "/h/u/link/", "/h/u/real", policy.Dir, "/h/u/real"},
		{"trailing slash in a link's text", "/h/u/dirslash", "/h/u/real", policy.Dir, "/h/u/real"},
		{"trailing slash in the text of a link in the middle", "/h/u/dirslash/sub", "/h/u/real/sub", policy.Dir, "/h/u/real/sub"},
		{"the same above a file", "/h/u/dirslash/f", "/h/u/real/f", policy.File, "/h/u/real"},
		{"trailing dot on a directory", "/h/u/real/.", "/h/u/real", policy.Dir, "/h/u/real"},
		{"trailing slash on a missing name", "/h/u/new/", "/h/u/new", policy.Missing, "/h/u"},
		{"empty components", "//h///u//real", "/h/u/real", policy.Dir, "/h/u/real"},
		{"dots", "/./h/././u/real", "/h/u/real", policy.Dir, "/h/u/real"},
		{"missing leaf", "/h/u/real/new", "/h/u/real/new", policy.Missing, "/h/u/real"},
		{"missing directories", "/h/u/link/new/er/./est", "/h/u/real/new/er/est", policy.Missing, "/h/u/real"},
		{"40 links", "/chain40", "/chain0", policy.Dir, "/chain0"},
		{"one link to a chain of 39", "/short", "/chain0", policy.Dir, "/chain0"},
		{"a name of dots", "/h/u/...", "/h/u/...", policy.Missing, "/h/u"},
		{"kernel's trees may be readonly", "/proc/sys", "/proc/sys", policy.Dir, "/proc/sys"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := policy.Resolve(policy.Policy{ReadOnly: []string{tt.given}, RestrictWrites: true}, resolveTree())
			if err != nil {
				t.Fatal(err)
			}
			root := r.Roots()[0]
			if root.Path != tt.want || root.Kind != tt.kind || root.Existing != tt.existing {
				t.Errorf("root = %q, %v, existing %q, want %q, %v, existing %q",
					root.Path, root.Kind, root.Existing, tt.want, tt.kind, tt.existing)
			}
			if root.Given != tt.given {
				t.Errorf("Given = %q, want %q", root.Given, tt.given)
			}
			if (root.ID == policy.ID{}) != (tt.kind == policy.Missing) {
				t.Errorf("ID = %v of a %v root", root.ID, tt.kind)
			}
			for _, before := range []string{"/h/u/real/sub", "/h/u/file", "/h/u/gone/x", "/h"} {
				r, err := policy.Resolve(policy.Policy{BaseWritable: []string{before}, ReadOnly: []string{tt.given}}, resolveTree())
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(r.Roots(), func(r policy.Root) bool { return r.List == policy.ReadOnly })
				if got := r.Roots()[i]; got.Path != tt.want || got.Kind != tt.kind || got.Existing != tt.existing || got.ID != root.ID {
					t.Errorf("after %q, root = %q, %v, existing %q", before, got.Path, got.Kind, got.Existing)
				}
			}
			if got, err := policy.Canonical(tt.given, resolveTree()); got != tt.want || err != nil {
				t.Errorf("Canonical(%q) = %q, %v, want %q", tt.given, got, err, tt.want)
			}
		})
	}
}

func TestResolveNotDir(t *testing.T) {
	for given, want := range map[string]string{
		"/h/u/file/x":     "/h/u/file/x",
		"/h/u/file/x/y":   "/h/u/file/x/y",
		"/h/u/tofile/x":   "/h/u/file/x",
		"/h/u/file/./x/":  "/h/u/file/x",
		"/h/u/sock/x":     "/h/u/sock/x",
		"/h/u/link/../f2": "",
	} {
		r, err := policy.Resolve(policy.Policy{Denied: []string{given}, RestrictWrites: true}, resolveTree())
		if err != nil {
			t.Fatal(err)
		}
		root := r.Roots()[0]
		if root.NotDir != (want != "") || root.Kind != policy.Missing || root.Existing != "/h/u" {
			t.Errorf("%q: NotDir = %v, kind %v, existing %q", given, root.NotDir, root.Kind, root.Existing)
		}
		if want != "" && root.Path != want {
			t.Errorf("%q: path %q, want %q", given, root.Path, want)
		}
	}
}

func TestResolvePathErrors(t *testing.T) {
	denied := errors.New("lstat says no")
	tests := []struct {
		name, given string
		want        error
	}{
		{"empty", "", policy.ErrEmpty},
		{"relative", "h/u", policy.ErrRelative},
		{"NUL", "/h\x00/u", policy.ErrNUL},
		{"link to itself", "/h/u/loop", policy.ErrLoop},
		{"two links to each other", "/h/u/ping", policy.ErrLoop},
		{"below a loop", "/h/u/ping/x", policy.ErrLoop},
		{"41 links", "/chain41", policy.ErrLoop},
		{"41 links counted over the whole path", "/h/u/toroot/chain40", policy.ErrLoop},
		{"trailing slash on a file", "/h/u/file/", policy.ErrNotDir},
		{"trailing dot on a file", "/h/u/file/.", policy.ErrNotDir},
		{"trailing slash on a link to a file", "/h/u/tofile/", policy.ErrNotDir},
		{"link whose text ends in a slash, to a file", "/h/u/slash", policy.ErrNotDir},
		{"link whose text ends in a dot, to a file", "/h/u/dot", policy.ErrNotDir},
		{"link to such a link", "/h/u/toslash", policy.ErrNotDir},
		{"trailing slash on a device", "/dev/kvm/", policy.ErrNotDir},
		{".. after a file", "/h/u/file/..", policy.ErrNotDir},
		{".. after a missing name", "/h/u/new/../real", policy.ErrDotDot},
		{".. at the end after a missing name", "/h/u/new/..", policy.ErrDotDot},
		{".. after a dangling link", "/h/u/dangling/..", policy.ErrDotDot},
		{".. below a file", "/h/u/file/x/../y", policy.ErrDotDot},
		{"a directory that cannot be searched", "/h/u/other/x", denied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := resolveTree()
			tree.Errors = map[string]error{"/h/u/other/x": denied}
			for _, l := range policy.Lists() {
				_, err := policy.Resolve(listed(l, tt.given), tree)
				var root *policy.RootError
				if !errors.Is(err, tt.want) || !errors.As(err, &root) {
					t.Fatalf("Resolve error = %v, want %v", err, tt.want)
				}
				if root.List != l || root.Path != tt.given || root.Flag {
					t.Errorf("error is about %v %q, want %v %q", root.List, root.Path, l, tt.given)
				}
			}
			if _, err := policy.Canonical(tt.given, tree); !errors.Is(err, tt.want) {
				t.Errorf("Canonical error = %v, want %v", err, tt.want)
			}
		})
	}
}

// listed is a policy that has paths in one list.
func listed(l policy.List, paths ...string) policy.Policy {
	var p policy.Policy
	for _, path := range paths {
		switch l {
		case policy.BaseWritable:
			p.BaseWritable = append(p.BaseWritable, path)
		case policy.Denied:
			p.Denied = append(p.Denied, path)
		case policy.ReadOnly:
			p.ReadOnly = append(p.ReadOnly, path)
		case policy.Writable:
			p.Writable = append(p.Writable, path)
		}
	}
	return p
}

func TestResolveEmptyLink(t *testing.T) {
	// The kernel says ENOENT for a link without a text; no file system here
	// lets one be made, but some network file systems have held them.
	if _, err := policy.Canonical("/l", sim.NewTree().Link("/l", "")); err == nil {
		t.Error("an empty link is followed")
	}
}

func TestSystemRoots(t *testing.T) {
	tests := []struct {
		path             string
		writable, others error // what a base or writable root gives, and a denied or readonly one
	}{
		{"/dev", policy.ErrSystemRoot, nil},
		{"/dev/", policy.ErrSystemRoot, nil},
		{"/dev/shm", nil, nil},
		{"/dev/kvm", nil, nil},
		{"/device", nil, nil},
		{"/proc", policy.ErrSystemRoot, nil},
		{"/proc/sys", policy.ErrSystemRoot, nil},
		{"/proc/new", policy.ErrSystemRoot, nil},
		{"/process", nil, nil},
		{"/sys", policy.ErrSystemRoot, nil},
		{"/sys/fs", policy.ErrSystemRoot, nil},
		{"/h/u/toroot/proc", policy.ErrSystemRoot, nil},
		{"/h/u/toroot", nil, policy.ErrDeniedRoot},
		{"/", nil, policy.ErrDeniedRoot},
		{"//.", nil, policy.ErrDeniedRoot},
	}
	for _, tt := range tests {
		for _, l := range policy.Lists() {
			want := tt.writable
			if l == policy.Denied {
				want = tt.others
			}
			if l == policy.ReadOnly {
				want = nil
			}
			tree := resolveTree()
			tree.Fixed()
			_, err := policy.Resolve(listed(l, tt.path), tree)
			if !errors.Is(err, want) {
				t.Errorf("%v %q: error %v, want %v", l, tt.path, err, want)
			}
			var root *policy.RootError
			if errors.As(err, &root) && root.Hint() == "" {
				t.Errorf("%v %q: error without a hint", l, tt.path)
			}
		}
	}
}

func TestRootOfAllRoots(t *testing.T) {
	tests := []struct {
		name string
		p    policy.Policy
		want policy.Access // of "/" and of /h
	}{
		{"base", policy.Policy{BaseWritable: []string{"/"}, RestrictWrites: true}, policy.ReadWrite},
		{"writable", policy.Policy{Writable: []string{"/"}, RestrictWrites: true}, policy.ReadWrite},
		{"readonly", policy.Policy{ReadOnly: []string{"/"}}, policy.Read},
		{"readonly over base", policy.Policy{BaseWritable: []string{"/"}, ReadOnly: []string{"/"}}, policy.Read},
		{"writable over readonly", policy.Policy{ReadOnly: []string{"/"}, Writable: []string{"/"}}, policy.ReadWrite},
		{"readonly holds base roots", policy.Policy{BaseWritable: []string{"/h"}, ReadOnly: []string{"/"}}, policy.Read},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := policy.Resolve(tt.p, resolveTree())
			if err != nil {
				t.Fatal(err)
			}
			if r.Default() != tt.want || len(r.Layers()) != 0 {
				t.Errorf("Default() = %v with %d layers, want %v with none", r.Default(), len(r.Layers()), tt.want)
			}
			for _, path := range []string{"/", "/h"} {
				if got := r.Decide(path).Access; got != tt.want {
					t.Errorf("Decide(%q) = %v, want %v", path, got, tt.want)
				}
			}
		})
	}
}

func TestResolveRootIsUnreadable(t *testing.T) {
	tree := sim.NewTree()
	tree.Errors = map[string]error{"/": fs.ErrPermission}
	if _, err := policy.Resolve(listed(policy.Denied, "/x"), tree); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Resolve error = %v, want %v", err, fs.ErrPermission)
	}
}
