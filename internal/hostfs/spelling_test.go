//go:build unix

package hostfs

import "testing"

func TestOwnName(t *testing.T) {
	for _, c := range []struct{ name, asked, kernel, want string }{
		{"the same name", "/Users/u", "/Users/u", ""},
		{"another case", "/users/U/.LETTA", "/Users/u/.letta", ".letta"},
		{"another place, the same name", "/tmp/x", "/private/tmp/x", ""},
		{"another place and case", "/tmp/X", "/private/tmp/x", "x"},
		{"another normalization", "/u/e\u0301", "/u/\u00e9", "\u00e9"},
		{"another normalization of which one is ASCII in part", "/u/cafe\u0301", "/u/caf\u00e9", "caf\u00e9"},
		{"another hard link", "/u/secret", "/u/other", ""},
		{"a name that is a prefix", "/u/a", "/u/ab", ""},
		{"the root directory", "/", "/", ""},
		{"no answer", "/u/a", "", ""},
	} {
		if got := ownName(c.asked, c.kernel); got != c.want {
			t.Errorf("%s: ownName(%q, %q) = %q, want %q", c.name, c.asked, c.kernel, got, c.want)
		}
	}
}

func TestOtherPlace(t *testing.T) {
	for name, want := range map[string]string{
		"/System/Volumes/Data/Users":   "/Users",
		"/System/Volumes/Data/Users/u": "/Users/u",
		"/System/Volumes/Data":         "",
		"/System/Volumes/Data/":        "",
		"/System/Volumes/Database/x":   "",
		"/Users/u":                     "",
	} {
		if got := otherPlace(name); got != want {
			t.Errorf("otherPlace(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSystemLink(t *testing.T) {
	for path, want := range map[string]string{
		"/tmp/p.json":          "/private/tmp/p.json",
		"/var/folders/x/T/p":   "/private/var/folders/x/T/p",
		"/etc":                 "/private/etc",
		"/tmpfiles/p.json":     "/tmpfiles/p.json",
		"/Users/u/tmp/p.json":  "/Users/u/tmp/p.json",
		"p.json":               "p.json",
		"/private/tmp/p.json":  "/private/tmp/p.json",
		"/Users/u/var/p.json":  "/Users/u/var/p.json",
		"/variable/etc/p.json": "/variable/etc/p.json",
	} {
		if got := systemLink(path); got != want {
			t.Errorf("systemLink(%q) = %q, want %q", path, got, want)
		}
	}
}
