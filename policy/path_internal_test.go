package policy

import "testing"

func TestJoinInIsJoin(t *testing.T) {
	for _, text := range []string{"", "/", "/a", "/a/b", "/a/bc", "/ab/c", "//a/b", "/a//b", "a/b"} {
		for _, dir := range []string{"/", "/a", "/a/b", "/ab", "/x"} {
			for _, name := range []string{"a", "b", "bc", "c"} {
				if got, want := joinIn(text, dir, name), join(dir, name); got != want {
					t.Errorf("joinIn(%q, %q, %q) = %q, want %q", text, dir, name, got, want)
				}
			}
		}
	}
}
