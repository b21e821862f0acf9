package seatbelt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/seatbelt"
)

// nested is a policy with one root of each list, each inside the one before.
func nested(a, b, c, d string) policy.Policy {
	return policy.Policy{
		BaseWritable: []string{"/" + a}, Denied: []string{"/" + a + "/" + b},
		ReadOnly: []string{"/" + a + "/" + b + "/" + c}, Writable: []string{"/" + a + "/" + b + "/" + c + "/" + d},
		RestrictWrites: true,
	}
}

// isName reports whether s can be the name of a file.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
}

// The bytes of a path reach the parameters as they are and the text not at all.
func FuzzSBPL(f *testing.F) {
	f.Add("a", "b", "c", "d")
	f.Add("new\nline", `quo"te`, `back\slash`, "\xff\xfe")
	f.Add(`")`, `(param "R0")`, "; c", `#"x"`)
	f.Add("-D", "R0=x", "=", "*?[]$~")
	f.Add("e\u0301", "\u00e9", "\u2028", "\U0001f600")
	f.Add("System", "Volumes", "Data", "x")
	f.Add("a/../b", "c//d", "./e", "f/")
	want := profile(f, nested("a", "b", "c", "d"), nil)
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		p := nested(a, b, c, d)
		r, err := policy.Resolve(p, fakeFS(nil))
		if err != nil {
			return // NUL, or two lists with one path
		}
		plan, err := seatbelt.Profile(r)
		if err != nil {
			t.Skip("too large:", err)
		}
		s := evaluate(t, plan, nil)
		for _, l := range r.Layers() {
			if !slices.ContainsFunc(plan.Params, func(p seatbelt.Param) bool { return p.Value == l.Root.Path }) {
				t.Errorf("no parameter carries %q", l.Root.Path)
			}
			access := r.Decide(l.Root.Path).Access
			if got := s.Read(l.Root.Path); (got == sim.VerdictAllow) != (access != policy.None) {
				t.Errorf("Read(%q) = %v, want %v", l.Root.Path, got, access)
			}
			if got := s.Write(l.Root.Path); (got == sim.VerdictAllow) != (access == policy.ReadWrite) {
				t.Errorf("Write(%q) = %v, want %v", l.Root.Path, got, access)
			}
		}
		for _, name := range []string{a, b, c, d} {
			if !isName(name) {
				return
			}
		}
		// These two have only one spelling or swap theirs, which is another shape.
		if a == "dev" || a == "System" {
			return
		}
		if plan.Text != want.Text {
			t.Errorf("the text depends on the names %q\n--- got\n%s--- want\n%s", []string{a, b, c, d}, plan.Text, want.Text)
		}
		for i, param := range plan.Params {
			value := strings.NewReplacer("/a", "/"+a, "/b", "/"+b, "/c", "/"+c, "/d", "/"+d).Replace(want.Params[i].Value)
			if param.Name != want.Params[i].Name || param.Value != value {
				t.Errorf("parameter %d = %q, want %q", i, param, value)
			}
		}
	})
}
