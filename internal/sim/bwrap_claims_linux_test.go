package sim_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/internal/testenv"
)

// bwrapClaims are what the interpreter says of bubblewrap, one by one, and what
// the kernel answers when bubblewrap does it. In an argument "@" stands for the
// host directory. What is wanted of a try is "ok" where the host's own content is
// read or changed, "void" where a write succeeds and reaches nothing of the
// host's, and otherwise the error. refuses is what the interpreter says instead
// of carrying out what bubblewrap does; fails is what bubblewrap says when it
// does not start.
var bwrapClaims = []struct {
	name, argv     string
	refuses, fails string
	want           map[string]string
}{
	{
		name: "a mask hides what is below it, and a write to it vanishes", argv: "--bind / / --tmpfs @/a",
		want: map[string]string{"list @/a": "void", "read @/a/f": "ENOENT", "create @/a/x": "void", "read @/ab/f": "ok", "create @/ab/x": "ok"},
	},
	{
		name: "a sealed mask refuses writes", argv: "--bind / / --tmpfs @/a --remount-ro @/a",
		want: map[string]string{"read @/a/f": "ENOENT", "create @/a/x": "EROFS", "mkdir @/a/x": "EROFS", "create @/ab/x": "ok"},
	},
	{
		name: "a mask cannot be removed or renamed", argv: "--bind / / --tmpfs @/a",
		want: map[string]string{"rmdir @/a": "EBUSY", "rename @/a @/y": "EBUSY"},
	},
	{
		name: "a directory above a mask can be renamed", argv: "--bind / / --tmpfs @/a/b",
		want: map[string]string{"rename @/a @/y": "ok"},
	},
	{
		name: "a pinned directory above a mask cannot be renamed", argv: "--bind / / --bind @/a @/a --tmpfs @/a/b",
		want: map[string]string{"rename @/a @/y": "EBUSY", "rename @/a/f @/y": "EXDEV", "create @/a/x": "ok"},
	},
	{
		name: "a file under the null device is neither read nor written, by root either", argv: "--bind / / --ro-bind /dev/null @/a/f",
		want: map[string]string{"read @/a/f": "EACCES", "write @/a/f": "EACCES", "unlink @/a/f": "EBUSY", "rename @/ab/f @/a/f": "EBUSY", "read @/ab/f": "ok"},
	},
	{
		name: "a read-only bind refuses contents", argv: "--bind / / --ro-bind @/a @/a",
		want: map[string]string{"read @/a/f": "ok", "write @/a/f": "EROFS", "create @/a/x": "EROFS", "unlink @/a/f": "EROFS", "truncate @/a/f": "EROFS"},
	},
	{
		name: "a writable carve-out inside a mask", argv: "--bind / / --tmpfs @/a --bind @/a/b @/a/b --remount-ro @/a",
		want: map[string]string{"read @/a/b/f": "ok", "create @/a/b/x": "ok", "read @/a/d/f": "ENOENT", "create @/a/x": "EROFS"},
	},
	{
		name: "a mask inside a carve-out inside a mask",
		argv: "--bind / / --tmpfs @/a --bind @/a/b @/a/b --tmpfs @/a/b/c --remount-ro @/a/b/c --remount-ro @/a",
		want: map[string]string{"read @/a/b/f": "ok", "create @/a/b/x": "ok", "read @/a/b/c/f": "ENOENT", "create @/a/b/c/x": "EROFS", "create @/a/x": "EROFS"},
	},
	{
		name: "a writable carve-out inside a read-only one inside a mask",
		argv: "--ro-bind / / --tmpfs @/a --ro-bind @/a/b @/a/b --bind @/a/b/c @/a/b/c --remount-ro @/a",
		want: map[string]string{"read @/a/b/f": "ok", "create @/a/b/x": "EROFS", "read @/a/b/c/f": "ok", "create @/a/b/c/x": "ok", "create @/x": "EROFS"},
	},
	{
		name: "a read-only carve-out inside a writable one inside a read-only root",
		argv: "--ro-bind / / --bind @/a @/a --ro-bind @/a/b @/a/b --bind @/a/b/c @/a/b/c",
		want: map[string]string{"create @/x": "EROFS", "create @/a/x": "ok", "create @/a/b/x": "EROFS", "create @/a/b/c/x": "ok"},
	},
	{
		name: "a carve-out above a mask that comes later uncovers it", argv: "--bind / / --tmpfs @/a/b --bind @/a @/a",
		want: map[string]string{"read @/a/b/f": "ok", "create @/a/b/x": "ok"},
	},
	{
		name: "a directory made for a carve-out's mount point is the mask's", argv: "--bind / / --tmpfs @/a --bind @/a/b/c @/a/b/c --remount-ro @/a",
		want: map[string]string{"read @/a/b/f": "ENOENT", "create @/a/b/x": "EROFS", "create @/a/b/c/x": "ok"},
	},
	{
		name: "a seal does not reach a mount below", argv: "--bind / / --tmpfs @/a --bind @/a/b @/a/b --remount-ro @/a",
		want: map[string]string{"create @/a/x": "EROFS", "create @/a/b/x": "ok"},
	},
	{
		name: "a missing source is an error", argv: "--bind / / --bind @/none @/a", refuses: "no such source", fails: "Can't find source path",
	},
	{
		name: "a missing source with -try is nothing", argv: "--bind / / --ro-bind-try @/none @/a",
		want: map[string]string{"create @/a/x": "ok"},
	},
	{
		name: "a missing mount point on a read-only root is an error", argv: "--ro-bind / / --tmpfs @/none",
		refuses: "on a read-only mount", fails: "Can't mkdir",
	},
	{
		name: "a missing mount point in a sealed mask is an error", argv: "--bind / / --tmpfs @/a --remount-ro @/a --bind @/a/b @/a/b",
		refuses: "in a sealed tmpfs", fails: "Can't mkdir",
	},
	{
		name: "a mask on a file is an error", argv: "--bind / / --tmpfs @/a/f", refuses: "mount point is a file", fails: "ot a directory",
	},
	{
		name: "a missing mount point is made on the host, and stays", argv: "--bind / / --tmpfs @/none", refuses: "on the host",
		want: map[string]string{"create @/none/x": "void"},
	},
	{
		name: "a source that is a symlink shows its target", argv: "--bind / / --tmpfs @/ab --bind @/link @/ab/x", refuses: "is a symlink",
		want: map[string]string{"list @/ab/x": "void", "read @/a/b/f": "ok"},
	},
	{
		name: "a mask on a symlink lands on its target", argv: "--bind / / --tmpfs @/link", refuses: "is a symlink",
		want: map[string]string{"read @/a/b/f": "ENOENT", "read @/a/f": "ok"},
	},
	{
		name: "names are bytes", argv: "--bind / / --tmpfs @/new\nline --tmpfs @/quo\"te --ro-bind @/back\\slash @/back\\slash --tmpfs @/bad\xff\xfeutf8 --bind @/bad\xff\xfeutf8/b @/bad\xff\xfeutf8/b",
		want: map[string]string{
			"read @/new\nline/f": "ENOENT", "read @/quo\"te/f": "ENOENT", "read @/bad\xff\xfeutf8/f": "ENOENT",
			"create @/bad\xff\xfeutf8/b/x": "ok", "create @/back\\slash/x": "EROFS", "read @/back\\slash/f": "ok",
		},
	},
}

// claimHost makes the host directory of the claims. Every directory holds a file f.
func claimHost(t *testing.T, uid int) (string, *sim.Tree) {
	t.Helper()
	at, err := os.MkdirTemp("", "claim")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(at) })
	tree := sim.NewTree().Dirs(at)
	errs := []error{os.Chmod(at, 0o755), os.Chown(at, uid, uid)}
	for _, dir := range []string{
		"/a", "/a/b", "/a/b/c", "/a/d", "/ab", "/new\nline", `/quo"te`, `/back\slash`, "/bad\xff\xfeutf8", "/bad\xff\xfeutf8/b",
	} {
		f := at + dir + "/f"
		tree.Dirs(at + dir).Files(f)
		errs = append(errs, os.Mkdir(at+dir, 0o755), os.WriteFile(f, nil, 0o644), os.Chown(at+dir, uid, uid), os.Chown(f, uid, uid))
	}
	tree.Link(at+"/link", "a/b")
	if err := errors.Join(append(errs, os.Symlink("a/b", at+"/link"))...); err != nil {
		t.Fatal(err)
	}
	return at, tree
}

// Each claim that the interpreter makes of bubblewrap is done by bubblewrap, as
// root and as a plain user, with the error that shows which mechanism refused.
func TestBwrapClaims(t *testing.T) {
	asWhom(t, func(t *testing.T, uid int) {
		needBwrap(t, uid)
		for _, tt := range bwrapClaims {
			t.Run(tt.name, func(t *testing.T) {
				at, tree := claimHost(t, uid)
				argv := strings.Split(strings.ReplaceAll(tt.argv, "@", at), " ")
				v, err := sim.Bwrap(argv, tree, nil)
				if tt.refuses == "" && err != nil || tt.refuses != "" && (err == nil || !strings.Contains(err.Error(), tt.refuses)) {
					t.Errorf("interpreter: %v, want an error with %q", err, tt.refuses)
				}
				if tt.fails == "" {
					checkClaim(t, uid, argv, tt.want, at, v, err == nil)
				} else if _, out, err := underBwrap(t, uid, argv, nil); err == nil || !strings.Contains(out, tt.fails) {
					t.Errorf("bubblewrap: %v: %s, want a failure with %q", err, out, tt.fails)
				}
			})
		}
	})
}

func checkClaim(t *testing.T, uid int, argv []string, want map[string]string, at string, v sim.View, interpreted bool) {
	t.Helper()
	lines := slices.Sorted(maps.Keys(want))
	var tries []try
	for _, line := range lines {
		op, path, other := splitTry(strings.ReplaceAll(line, "@", at))
		tries = append(tries, try{op, path, other})
	}
	a, out, err := underBwrap(t, uid, argv, tries)
	if err != nil || len(a.Tries) != len(tries) {
		t.Fatalf("bubblewrap: %v: %s", err, out)
	}
	for i, line := range lines {
		got, want := outcome(tries[i], a.Tries[i], want[line]), want[line]
		if got != want {
			t.Errorf("bubblewrap: %s: %s, want %s", line, got, want)
		}
		if !interpreted {
			continue
		}
		if got := says(v, tries[i], want); got != want {
			t.Errorf("interpreter: %s: %s, want %s", line, got, want)
		}
	}
}

// outcome words what became of a try. What the host then has at the place tells
// whether it was the host's own; of a listing only what is wanted tells.
func outcome(q try, err syscall.Errno, want string) string {
	_, gone := os.Lstat(q.Path)
	switch {
	case err != 0:
		return unix.ErrnoName(err)
	case q.Op == "list" && want == "void", q.Op == "create" && gone != nil:
		return "void"
	}
	return "ok"
}

// says words the interpreter's answer. It knows no errors and no EXDEV, so that a
// refusal is whichever was wanted.
func says(v sim.View, q try, want string) string {
	read, write := v.Access(q.Path)
	ok := write
	switch q.Op {
	case "read", "list":
		ok = read
	case "rename", "unlink", "rmdir":
		ok = v.Entry(q.Path) && (q.Other == "" || v.Entry(q.Other)) && want != "EXDEV"
	}
	switch {
	case ok:
		return "ok"
	case v.Void(q.Path) && (q.Op == "list" || q.Op == "create"):
		return "void"
	case want == "ok" || want == "void":
		return "refused"
	}
	return want
}

// underBwrap has this test binary try something inside bubblewrap.
func underBwrap(t *testing.T, uid int, argv []string, tries []try) (answer, string, error) {
	var in, stdout, stderr bytes.Buffer
	var a answer
	if err := gob.NewEncoder(&in).Encode(job{UID: uid, Tries: tries}); err != nil {
		return a, "", err
	}
	cmd := exec.Command("bwrap", append(append([]string{}, argv...), "--", testenv.Helper(t))...)
	cmd.Env = append(cmd.Environ(), childVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &stdout, &stderr
	if uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	if err := cmd.Run(); err != nil {
		return a, stderr.String(), err
	}
	return a, stderr.String(), gob.NewDecoder(&stdout).Decode(&a)
}

// needBwrap asks for a bubblewrap that does the least it can do.
func needBwrap(t *testing.T, uid int) {
	t.Helper()
	facility := testenv.FacilityBwrap
	if uid != 0 {
		testenv.Need(t, facility, testenv.HasBwrap())
		facility = testenv.FacilityUserns
	}
	_, out, err := underBwrap(t, uid, []string{"--bind", "/", "/"}, nil)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	testenv.Need(t, facility, err)
}
