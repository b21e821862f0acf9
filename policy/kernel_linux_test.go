package policy_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// Canonical says of a path what the kernel says: random trees are made below a
// directory that openat2(2) takes for the root (RESOLVE_IN_ROOT), and random
// paths are opened in them.
func TestCanonicalIsTheKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	trees, found := 200, 0
	for range trees {
		data := make([]byte, 200)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		data[1] = 11 // nodes, or fewer where they do not fit
		b := &builder{data: data}
		tree := b.tree()
		root := newRoot(t, tree)
		for range 20 {
			if path := b.path("a", "b", "ab", "c", "..", ".", ""); path != "" && compareWithKernel(t, tree, root, path) {
				found++
			}
		}
		unix.Close(root)
	}
	t.Logf("%d trees, %d paths that lead to something", trees, found)
	if found < trees {
		t.Errorf("%d paths lead to something, want %d or more", found, trees)
	}
}

// newRoot makes the tree on the real file system and opens its root.
func newRoot(t *testing.T, tree *sim.Tree) int {
	t.Helper()
	dir := t.TempDir()
	for _, path := range tree.Paths()[1:] {
		name, err := filepath.Join(dir, path), error(nil)
		switch tree.Kind(path) {
		case policy.Dir:
			err = os.Mkdir(name, 0o755)
		case policy.File:
			err = os.WriteFile(name, nil, 0o644)
		case policy.Other:
			err = unix.Mkfifo(name, 0o644)
		case policy.Symlink:
			var target string
			if target, err = tree.Readlink(path); err == nil {
				err = os.Symlink(target, name)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func compareWithKernel(t *testing.T, tree *sim.Tree, root int, path string) (found bool) {
	t.Helper()
	got, err := policy.Canonical(path, tree)
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	fd, kernel := unix.Openat2(root, path, how)
	for kernel == unix.EAGAIN { // something on the host was renamed or mounted while ".." was looked up
		fd, kernel = unix.Openat2(root, path, how)
	}
	switch kernel {
	case nil:
		defer unix.Close(fd)
		want := strings.TrimPrefix(name(t, fd), name(t, root))
		if want == "" {
			want = "/"
		}
		if err != nil || got != want {
			t.Errorf("Canonical(%q) = %q, %v, want %q in %s", path, got, err, want, show(tree))
		}
		return true
	case unix.ENOSYS, unix.EPERM:
		t.Skipf("needs openat2: %v", kernel)
	case unix.ELOOP:
		if !errors.Is(err, policy.ErrLoop) {
			t.Errorf("Canonical(%q) = %q, %v, want %v in %s", path, got, err, policy.ErrLoop, show(tree))
		}
	case unix.ENOTDIR:
		// A root may stand where a file would have to be a directory first.
		missing := err == nil && tree.Kind(got) == policy.Missing
		if !missing && !errors.Is(err, policy.ErrNotDir) && !errors.Is(err, policy.ErrDotDot) {
			t.Errorf("Canonical(%q) = %q, %v, where the kernel says %v in %s", path, got, err, kernel, show(tree))
		}
	case unix.ENOENT:
		missing := err == nil && tree.Kind(got) == policy.Missing
		if !missing && !errors.Is(err, policy.ErrDotDot) {
			t.Errorf("Canonical(%q) = %q, %v, where the kernel says %v in %s", path, got, err, kernel, show(tree))
		}
	default:
		t.Fatalf("openat2(%q): %v", path, kernel)
	}
	return false
}

func name(t *testing.T, fd int) string {
	t.Helper()
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func show(tree *sim.Tree) string {
	var out strings.Builder
	for _, path := range tree.Paths() {
		out.WriteString("\n\t" + path + " " + tree.Kind(path).String())
		if target, err := tree.Readlink(path); err == nil {
			out.WriteString(" -> " + target)
		}
	}
	return out.String()
}
