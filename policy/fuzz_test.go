package policy_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// Whatever the text, Parse returns a policy or a place in the text. A policy
// means the same to encoding/json, and is written and read back unchanged.
func FuzzPolicyJSON(f *testing.F) {
	for _, tt := range refused {
		f.Add([]byte(tt.text))
	}
	for _, tt := range accepted {
		f.Add([]byte(tt.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := policy.Parse(text)
		if err != nil {
			checkPlace(t, text, err)
			return
		}
		checkAgainstStandard(t, text, p)
		once, err := p.AppendJSON(nil)
		if err != nil {
			t.Fatalf("AppendJSON of what Parse made of %q: %v", text, err)
		}
		q, err := policy.Parse(once)
		if err != nil {
			t.Fatalf("Parse refuses what AppendJSON wrote, %q: %v", once, err)
		}
		if !reflect.DeepEqual(p, q) {
			t.Errorf("%+v is written and read back as %+v", p, q)
		}
		if twice, err := q.AppendJSON(nil); err != nil || string(twice) != string(once) {
			t.Errorf("written again: %q, %v, want %q", twice, err, once)
		}
	})
}

// checkPlace demands that a syntax error points into the text or at its end.
func checkPlace(t *testing.T, text []byte, err error) {
	t.Helper()
	var syntax *policy.SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("Parse error %v is not a SyntaxError", err)
	}
	lines := strings.Split(string(text), "\n")
	if syntax.Line < 1 || syntax.Line > len(lines) {
		t.Fatalf("error in line %d of %d", syntax.Line, len(lines))
	}
	if n := len(lines[syntax.Line-1]) + 1; syntax.Column < 1 || syntax.Column > n {
		t.Errorf("error in column %d of %d", syntax.Column, n)
	}
}

// Whatever the tree and the policy: Resolve does not panic and fails with a
// RootError only; each path it makes is canonical; what it decides is what the
// model says of the same policy with canonical paths; and the order of a list
// makes no difference.
func FuzzResolve(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x03\x00\x02ab\x01\x01a\x04\x01b\x00\x01a\x02\x01\x01b\x02\x02ab"))
	f.Add([]byte("\x01\x04\x01a\x00\x01b\x03\x00\x01\x01a\x02\x02ab\x01\x01c"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := &builder{data: data}
		tree, p := b.tree(), b.policy()
		r, err := policy.Resolve(p, tree)
		if _, backwards := policy.Resolve(reversed(p), tree); (backwards == nil) != (err == nil) {
			t.Errorf("%+v: error %v, and with its lists reversed %v", p, err, backwards)
		}
		if err != nil {
			var root *policy.RootError
			if !errors.As(err, &root) {
				t.Errorf("%+v: error %v is not a RootError", p, err)
			}
			return
		}
		probes := sim.Probes(tree)
		for _, root := range r.Roots() {
			if again, err := policy.Canonical(root.Path, tree); again != root.Path || err != nil {
				t.Errorf("root %q of %q leads on to %q, %v", root.Path, root.Given, again, err)
			}
			if kind := tree.Kind(root.Path); kind != root.Kind {
				t.Errorf("root %q is a %v, want %v", root.Path, root.Kind, kind)
			}
			if tree.Kind(root.Existing) != policy.Dir || !policy.Holds(root.Existing, root.Path) {
				t.Errorf("root %q: deepest directory %q", root.Path, root.Existing)
			}
			probes = append(probes, root.Path, root.Path+"/x", root.Path+"x")
		}
		canonical := canonicalLists(t, p, tree)
		for _, path := range probes {
			path = "/" + strings.Trim(path, "/")
			want := sim.Model(canonical, path)
			if got := r.Decide(path).Access; got != want {
				t.Errorf("%+v: Decide(%q) = %v, want %v", p, path, got, want)
			}
			if got := apply(r.Default(), r.Layers(), path); got != want {
				t.Errorf("%+v: layers give %q %v, want %v", p, path, got, want)
			}
		}
	})
}

func canonicalLists(t *testing.T, p policy.Policy, tree *sim.Tree) policy.Policy {
	t.Helper()
	canonical := policy.Policy{RestrictWrites: p.RestrictWrites}
	for _, l := range policy.Lists() {
		var paths []string
		for _, given := range p.Roots(l) {
			path, err := policy.Canonical(given, tree)
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		canonical.Merge(listed(l, paths...))
	}
	return canonical
}

func reversed(p policy.Policy) policy.Policy {
	q := policy.Policy{RestrictWrites: p.RestrictWrites}
	for _, l := range policy.Lists() {
		roots := slices.Clone(p.Roots(l))
		slices.Reverse(roots)
		q.Merge(listed(l, roots...))
	}
	return q
}

// builder makes a tree and a policy of bytes; when they end it makes zeros.
type builder struct{ data []byte }

func (b *builder) next() int {
	if len(b.data) == 0 {
		return 0
	}
	n := b.data[0]
	b.data = b.data[1:]
	return int(n)
}

// path joins up to four of the names.
func (b *builder) path(names ...string) string {
	var out strings.Builder
	for range b.next() % 5 {
		out.WriteString("/" + names[b.next()%len(names)])
	}
	return out.String()
}

func (b *builder) tree() *sim.Tree {
	tree := sim.NewTree()
	replaceable := b.next()
	tree.CanReplace = func(dir string) bool { return replaceable&(1<<(len(dir)%8)) != 0 }
	for range b.next() % 12 {
		kind := b.next()
		path := b.path("a", "b", "ab", "c")
		if path == "" || tree.Kind(path) != policy.Missing || belowFile(tree, path) {
			continue
		}
		switch kind % 6 {
		case 0, 1:
			tree.Dirs(path)
		case 2:
			tree.Files(path)
		case 3:
			tree.Link(path, "/"+b.path("a", "b", "ab", "c", ".", "..", ""))
		case 4:
			tree.Link(path, "."+b.path("a", "b", "ab", "c", ".", "..", ""))
		case 5:
			tree.Add(policy.Other, path)
		}
	}
	return tree
}

// belowFile reports whether something on the way to path is not a directory.
func belowFile(tree *sim.Tree, path string) bool {
	for _, up := range policy.Ancestors(path) {
		if kind := tree.Kind(up); kind != policy.Dir && kind != policy.Missing {
			return true
		}
	}
	return false
}

func (b *builder) policy() policy.Policy {
	p := policy.Policy{RestrictWrites: b.next()%2 == 1}
	for range b.next() % 8 {
		l := policy.Lists()[b.next()%4]
		path := b.path("a", "b", "ab", "c", "..", ".", "")
		if path == "" {
			path = "/"
		}
		p.Merge(listed(l, path))
	}
	return p
}
