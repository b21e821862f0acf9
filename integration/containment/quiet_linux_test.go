package containment

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// marked gives the files of interest an attribute that can be removed, and bob a
// link that can be read.
func marked(t *testing.T, tr *testenv.Tree) {
	t.Helper()
	for _, name := range []string{"out/file.txt", secret} {
		if err := unix.Setxattr(tr.Path(name), "user.confine", []byte("1"), 0); err != nil {
			testenv.Need(t, "xattr", err)
		}
	}
	tr.Link("x.md", bob+"/memory/link")
}

// TestSilentLoss: a write that cannot be kept fails. It must not succeed in a
// place that ends with the sandbox.
func TestSilentLoss(t *testing.T) {
	run(t, false, "silent loss", []attack{
		{name: "directly in a denied root", calls: []string{"create " + agents + "/new", "mkdir " + agents + "/carol"}, want: either(held("EROFS EROFS"), held("EACCES EACCES"))},
		{name: "below a denied root", calls: []string{"create " + bob + "/new"}, want: either(held("ENOENT"), held("EACCES"))},
		{
			name: "in /dev", policy: work,
			do: func(w world) string {
				if !w.confined {
					return "not-tried"
				}
				return w.calls("create =/dev/confine-test", "mkdir =/dev/confine-test")
			},
			free: "not-tried", why: "it would change the host's own /dev",
			want: either(held("EROFS EROFS"), held("EACCES EACCES")),
		},
	})
}

// TestMetadata: mode, owner, times and attributes of what must not be written.
func TestMetadata(t *testing.T) {
	var attacks []attack
	for _, call := range []string{"chmod", "chown", "utimes", "setxattr", "removexattr", "setflags"} {
		below, beside := "EACCES", gap("metadata", "ok")
		if call != "setflags" {
			below = "ok"
		}
		denied := gap("metadata", below)
		if call == "setflags" { // needs an open file
			denied = held(below)
		}
		attacks = append(attacks,
			attack{name: call + " of a read-only file", policy: work, prepare: marked, calls: []string{call + " out/file.txt"}, want: either(held("EROFS"), beside)},
			attack{name: call + " of a denied file", prepare: marked, calls: []string{call + " " + secret}, want: either(held("ENOENT"), denied)})
	}
	run(t, false, "metadata", attacks)
}

// TestNames: whether something is there, below a denied root.
func TestNames(t *testing.T) {
	var attacks []attack
	for _, c := range []struct{ call, path string }{
		{"stat", secret},
		{"access", secret},
		{"readlink", bob + "/memory/link"},
		{"watch", bob + "/memory"},
		{"handle", secret},
	} {
		attacks = append(attacks, attack{name: c.call, prepare: marked, calls: []string{c.call + " " + c.path}, want: either(held("ENOENT"), gap("names", "ok"))})
	}
	run(t, false, "names", attacks)
}

// TestLocks: a file that can be read can be locked.
func TestLocks(t *testing.T) {
	run(t, false, "locks", []attack{
		{name: "flock", policy: work, calls: []string{"flock out/file.txt"}, want: everywhere(residual("locks", "ok"))},
		{name: "lease", policy: work, calls: []string{"lease out/file.txt"}, want: everywhere(residual("locks", "ok"))},
		{name: "flock of a denied file", calls: []string{"flock " + secret}, want: either(held("ENOENT"), held("EACCES"))},
	})
}
