package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

func TestFoldEqualPaths(t *testing.T) {
	type root struct {
		list  policy.List
		index int
		given string
	}
	tests := []struct {
		name string
		p    policy.Policy
		want []root
	}{
		{
			"duplicates are one root, the first",
			policy.Policy{Denied: []string{"/x", "/a", "/a/", "/x/../a", "/a"}},
			[]root{{policy.Denied, 1, "/a"}, {policy.Denied, 0, "/x"}},
		},
		{
			"two spellings through a link",
			policy.Policy{Denied: []string{"/l", "/a"}, RestrictWrites: true},
			[]root{{policy.Denied, 0, "/l"}},
		},
		{
			"writable over readonly",
			policy.Policy{ReadOnly: []string{"/a"}, Writable: []string{"/a"}},
			[]root{{policy.Writable, 0, "/a"}},
		},
		{
			"readonly over base",
			policy.Policy{BaseWritable: []string{"/a"}, ReadOnly: []string{"/a/"}},
			[]root{{policy.ReadOnly, 0, "/a/"}},
		},
		{
			"denied over base",
			policy.Policy{BaseWritable: []string{"/a", "/l"}, Denied: []string{"/a"}, RestrictWrites: true},
			[]root{{policy.Denied, 0, "/a"}},
		},
		{
			"writable over readonly over base",
			policy.Policy{BaseWritable: []string{"/a"}, ReadOnly: []string{"/a"}, Writable: []string{"/x", "/a"}},
			[]root{{policy.Writable, 1, "/a"}, {policy.Writable, 0, "/x"}},
		},
		{
			"base first, then the rest, shallow first, ties by path",
			policy.Policy{
				BaseWritable: []string{"/x/y", "/b"}, Denied: []string{"/x/y/z", "/c"},
				ReadOnly: []string{"/a/z"}, Writable: []string{"/a/a", "/d"},
			},
			[]root{
				{policy.BaseWritable, 1, "/b"},
				{policy.BaseWritable, 0, "/x/y"},
				{policy.Denied, 1, "/c"},
				{policy.Writable, 1, "/d"},
				{policy.Writable, 0, "/a/a"},
				{policy.ReadOnly, 0, "/a/z"},
				{policy.Denied, 0, "/x/y/z"},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := policy.Resolve(tt.p, sim.NewTree().Dirs("/a", "/x").Link("/l", "a").Fixed())
			if err != nil {
				t.Fatal(err)
			}
			var got []root
			for _, r := range r.Roots() {
				got = append(got, root{r.List, r.Index, r.Given})
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("Roots() = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestDeniedCarveOut(t *testing.T) {
	tests := []struct {
		name string
		p    policy.Policy
		list policy.List // of the root that the error is about
		path string
	}{
		{"readonly", policy.Policy{Denied: []string{"/a"}, ReadOnly: []string{"/a"}}, policy.ReadOnly, "/a"},
		{"writable", policy.Policy{Denied: []string{"/a"}, Writable: []string{"/a"}}, policy.Writable, "/a"},
		{"written in another way", policy.Policy{Denied: []string{"/a"}, Writable: []string{"/x/../a/"}}, policy.Writable, "/x/../a/"},
		{"through a link", policy.Policy{Denied: []string{"/l"}, ReadOnly: []string{"/a"}}, policy.ReadOnly, "/a"},
		{"with a base root there as well", policy.Policy{BaseWritable: []string{"/a"}, Denied: []string{"/a"}, Writable: []string{"/a"}}, policy.Writable, "/a"},
		{"of a path that is missing", policy.Policy{Denied: []string{"/new"}, ReadOnly: []string{"/new"}}, policy.ReadOnly, "/new"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := policy.Resolve(tt.p, sim.NewTree().Dirs("/a", "/x").Link("/l", "a").Fixed())
			var root *policy.RootError
			if !errors.Is(err, policy.ErrSamePath) || !errors.As(err, &root) {
				t.Fatalf("Resolve error = %v, want %v", err, policy.ErrSamePath)
			}
			if root.List != tt.list || root.Path != tt.path || root.Hint() == "" {
				t.Errorf("error is about %v %q with hint %q, want %v %q with one", root.List, root.Path, root.Hint(), tt.list, tt.path)
			}
		})
	}
}

func TestNamesAreBytes(t *testing.T) {
	for _, name := range []string{
		"new\nline", `quo"te`, `back\slash`, "tab\t", " space ", "\xff\xfe", "half\xc3", "\xed\xa0\x80",
		"e\u0301", "\u00e9", "*", "$HOME", "~", "[a]", "-", "--", "\x01\x7f", "...",
	} {
		tree := sim.NewTree().Dirs("/d/"+name+"/sub").Link("/l"+name, "/d/"+name).Fixed()
		p := policy.Policy{RestrictWrites: true}
		for _, given := range []string{"/d/" + name, "/l" + name + "/sub", "/new/" + name} {
			if err := p.Add(policy.Denied, given); err != nil {
				t.Fatal(err)
			}
		}
		r, err := policy.Resolve(p, tree)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		want := []string{"/d/" + name, "/new/" + name, "/d/" + name + "/sub"}
		var got []string
		for _, root := range r.Roots() {
			got = append(got, root.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("roots = %q, want %q", got, want)
		}
		if got := r.Decide("/d/" + name + "/x").Access; got != policy.None {
			t.Errorf("Decide below %q = %v, want %v", name, got, policy.None)
		}
		if got := r.Decide("/d/" + name + "x").Access; got != policy.Read {
			t.Errorf("Decide beside %q = %v, want %v", name, got, policy.Read)
		}
	}
}

func TestCreatable(t *testing.T) {
	tree := func() *sim.Tree {
		return sim.NewTree().Dirs("/a/b", "/ro").Files("/a/f").Link("/l", "/a/new").Fixed()
	}
	tests := []struct {
		name, given string
		p           policy.Policy
		want        bool
	}{
		{"below a writable default", "/a/new", policy.Policy{}, true},
		{"below a read-only default", "/a/new", policy.Policy{RestrictWrites: true}, false},
		{"below a base root", "/a/new", policy.Policy{BaseWritable: []string{"/a"}, RestrictWrites: true}, true},
		{"two levels below a writable root", "/a/b/new/er", policy.Policy{Writable: []string{"/a/b"}, RestrictWrites: true}, true},
		{"below a readonly root", "/a/new", policy.Policy{ReadOnly: []string{"/a"}}, false},
		{"below another denied root", "/a/new", policy.Policy{Denied: []string{"/a"}}, false},
		{"what exists", "/a/b", policy.Policy{}, false},
		{"in the place of a file's child", "/a/f/x", policy.Policy{}, true},
		{"target of a dangling link", "/l", policy.Policy{BaseWritable: []string{"/a"}, RestrictWrites: true}, true},
		{"at the top", "/new", policy.Policy{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.p.Denied = append(tt.p.Denied, tt.given)
			r, err := policy.Resolve(tt.p, tree())
			if err != nil {
				t.Fatal(err)
			}
			for _, root := range r.Roots() {
				if root.Given == tt.given && root.Creatable != tt.want {
					t.Errorf("Creatable = %v, want %v", root.Creatable, tt.want)
				}
				if root.Creatable && root.Kind != policy.Missing {
					t.Errorf("%q is there, and Creatable", root.Path)
				}
			}
		})
	}
}

// A path can grow when its links are followed, and the kernel takes none of 4096
// bytes (PATH_MAX counts the NUL).
func TestCanonicalLength(t *testing.T) {
	long := "/" + strings.Repeat("d", 200)
	for length, want := range map[int]error{4095: nil, 4096: policy.ErrTooLong} {
		tree := sim.NewTree().Dirs(long).Link("/l", long).Fixed()
		given := "/l/" + strings.Repeat("n", length-len(long)-1)
		if _, err := policy.Resolve(policy.Policy{Denied: []string{given}}, tree); !errors.Is(err, want) {
			t.Errorf("a canonical path of %d bytes: error %v, want %v", length, err, want)
		}
	}
}

func TestAccess(t *testing.T) {
	for l, want := range map[policy.List]policy.Access{
		policy.BaseWritable: policy.ReadWrite,
		policy.Denied:       policy.None,
		policy.ReadOnly:     policy.Read,
		policy.Writable:     policy.ReadWrite,
	} {
		if got := (policy.Root{List: l}).Access(); got != want {
			t.Errorf("access of %v = %v, want %v", l, got, want)
		}
	}
	for a, want := range map[policy.Access]string{policy.None: "none", policy.Read: "read", policy.ReadWrite: "read-write"} {
		if got := a.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
	if !(policy.None < policy.Read && policy.Read < policy.ReadWrite) {
		t.Error("accesses are not ordered by what they include")
	}
	for k, want := range map[policy.Kind]string{
		policy.Missing: "missing", policy.Dir: "directory", policy.File: "file",
		policy.Device: "device", policy.Other: "other", policy.Symlink: "symlink",
	} {
		if got := k.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

func TestAdd(t *testing.T) {
	tests := []struct {
		list policy.List
		path string
		want error
		text string
	}{
		{policy.Denied, "", policy.ErrEmpty, `--deny "": path is empty`},
		{policy.ReadOnly, "a", policy.ErrRelative, `--read-only "a": path is not absolute`},
		{policy.Writable, "/a\x00", policy.ErrNUL, `--writable "/a\x00": path holds a NUL byte`},
		{policy.BaseWritable, "~", policy.ErrRelative, `--base-writable "~": path is not absolute`},
	}
	for _, tt := range tests {
		var p policy.Policy
		err := p.Add(tt.list, tt.path)
		if !errors.Is(err, tt.want) || err.Error() != tt.text {
			t.Errorf("Add(%q) = %v, want %s", tt.path, err, tt.text)
		}
		if len(p.Roots(tt.list)) != 0 {
			t.Errorf("Add(%q) kept the path", tt.path)
		}
	}
}

func TestMerge(t *testing.T) {
	p := policy.Policy{Denied: []string{"/a"}, Writable: []string{"/w"}}
	p.Merge(policy.Policy{BaseWritable: []string{"/b"}, Denied: []string{"/c"}, ReadOnly: []string{"/r"}, RestrictWrites: true})
	p.Merge(policy.Policy{})
	want := map[policy.List][]string{
		policy.BaseWritable: {"/b"}, policy.Denied: {"/a", "/c"}, policy.ReadOnly: {"/r"}, policy.Writable: {"/w"},
	}
	for l, roots := range want {
		if got := p.Roots(l); !slices.Equal(got, roots) {
			t.Errorf("%v = %q, want %q", l, got, roots)
		}
	}
	if !p.RestrictWrites {
		t.Error("merging an unrestricted policy lifts the restriction")
	}
}

func TestHolds(t *testing.T) {
	for _, tt := range []struct {
		root, path string
		want       bool
	}{
		{"/", "/", true},
		{"/", "/a", true},
		{"/a", "/a", true},
		{"/a", "/a/b", true},
		{"/a", "/ab", false},
		{"/a", "/", false},
		{"/a/b", "/a", false},
		{"/a", "/b/a", false},
	} {
		if got := policy.Holds(tt.root, tt.path); got != tt.want {
			t.Errorf("Holds(%q, %q) = %v, want %v", tt.root, tt.path, got, tt.want)
		}
	}
}

func TestAncestors(t *testing.T) {
	for path, want := range map[string][]string{"/": nil, "/a": {"/"}, "/a/b/c": {"/a/b", "/a", "/"}} {
		if got := policy.Ancestors(path); !slices.Equal(got, want) {
			t.Errorf("Ancestors(%q) = %q, want %q", path, got, want)
		}
	}
}
