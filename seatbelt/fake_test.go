package seatbelt_test

import (
	"io/fs"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/seatbelt"
)

// fakeFS is a file system in which every name is a directory unless it is
// listed as something else.
type fakeFS map[string]policy.Kind

func (f fakeFS) Lstat(name string) (policy.Info, error) {
	kind, ok := f[name]
	switch {
	case !ok:
		return policy.Info{Kind: policy.Dir}, nil
	case kind == policy.Missing:
		return policy.Info{}, fs.ErrNotExist
	}
	return policy.Info{Kind: kind}, nil
}

func (fakeFS) Readlink(string) (string, error) { return "", fs.ErrInvalid }

func (fakeFS) Replaceable(string) bool { return true }

// isFile is what the evaluator wants to know of a path.
func (f fakeFS) isFile(path string) bool {
	kind, ok := f[path]
	return ok && kind != policy.Dir
}

func resolve(t testing.TB, p policy.Policy, fsys fakeFS) policy.Resolved {
	t.Helper()
	r, err := policy.Resolve(p, fsys)
	if err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	return r
}

func profile(t testing.TB, p policy.Policy, fsys fakeFS) seatbelt.Plan {
	t.Helper()
	plan, err := seatbelt.Profile(resolve(t, p, fsys))
	if err != nil {
		t.Fatalf("Profile: %v", err)
	}
	return plan
}

func evaluate(t testing.TB, plan seatbelt.Plan, fsys fakeFS) *sim.SBPL {
	t.Helper()
	params := make(map[string]string)
	for _, p := range plan.Params {
		if _, twice := params[p.Name]; twice {
			t.Fatalf("parameter %s is given twice", p.Name)
		}
		params[p.Name] = p.Value
	}
	s, err := sim.ParseSBPL(plan.Text, params)
	if err != nil {
		t.Fatalf("ParseSBPL: %v\n%s", err, plan.Text)
	}
	s.IsFile = fsys.isFile
	return s
}
