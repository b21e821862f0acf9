package launch

import (
	"slices"
	"testing"
)

func TestGetenv(t *testing.T) {
	env := []string{"EMPTY=", "PATHS=no", "PATH=/bin", "EQ=a=b", "=X=odd", "NOVALUE", "TWICE=1", "TWICE=2"}
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{"PATH", "/bin", true},
		{"EMPTY", "", true},
		{"EQ", "a=b", true},
		{"PAT", "", false},
		{"NOVALUE", "", false},
		{"path", "", false},
		{"TWICE", "1", true}, // as getenv(3): the first wins
	} {
		if value, ok := Getenv(env, c.name); value != c.value || ok != c.ok {
			t.Errorf("Getenv(%q) = %q, %v, want %q, %v", c.name, value, ok, c.value, c.ok)
		}
	}
}

func TestSetenvAndUnsetenv(t *testing.T) {
	env := []string{"A=1", "AB=2", "A=3", "B=4"}
	before := slices.Clone(env)
	for _, c := range []struct {
		name string
		got  []string
		want []string
	}{
		{"setting replaces every entry", Setenv(env, "A", "x"), []string{"AB=2", "B=4", "A=x"}},
		{"setting adds", Setenv(env, "C", ""), []string{"A=1", "AB=2", "A=3", "B=4", "C="}},
		{"unsetting removes every entry", Unsetenv(env, "A"), []string{"AB=2", "B=4"}},
		{"unsetting what is not there", Unsetenv(env, "C"), []string{"A=1", "AB=2", "A=3", "B=4"}},
		{"nothing at all", Unsetenv(nil, "A"), []string{}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
	// Appending to one result must not show in another.
	one, two := Unsetenv(env, "B"), Unsetenv(env, "B")
	_ = append(one, "X=1")
	if two = append(two, "Y=2"); two[len(two)-1] != "Y=2" {
		t.Errorf("two results share memory: %q", two)
	}
	if !slices.Equal(env, before) {
		t.Errorf("the environment was changed to %q", env)
	}
}
