package launch

import (
	"slices"
	"testing"
)

func TestAlter(t *testing.T) {
	for _, c := range []struct{ from, to, changes []string }{
		{nil, nil, nil},
		{[]string{"A=1", "B=2"}, []string{"A=1", "B=2"}, nil},
		{[]string{"A=1", "B=2"}, []string{"A=1"}, []string{"B"}},
		{[]string{"A=1"}, []string{"A=2", "C="}, []string{"A=2", "C="}},
		{[]string{"A=1", "A=1", "B=x=y"}, []string{"D=="}, []string{"D==", "A", "B"}},
		{[]string{"odd", "=x", "A=1"}, []string{"A=1"}, nil},
	} {
		got := Changes(c.from, c.to)
		if !slices.Equal(got, c.changes) {
			t.Errorf("from %q to %q: %q, want %q", c.from, c.to, got, c.changes)
		}
		after := Alter(c.from, got)
		for _, entry := range c.to {
			if !slices.Contains(after, entry) {
				t.Errorf("%q with %q is %q, without %q", c.from, got, after, entry)
			}
		}
	}
}
