package containment

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// leaked is where a descriptor that the caller forgot to close arrives.
const leaked = 20

// inherits makes calls in a process that inherits a file or directory of the
// tree, or of the host, as descriptor 20.
func inherits(name string, flags int, calls ...string) func(w world) string {
	return func(w world) string {
		w.t.Helper()
		c := w.command(w.args(calls...)...)
		c.Files = make([]*os.File, leaked-2)
		c.Files[leaked-3] = w.open(name, flags)
		return w.answers(c)
	}
}

// stdin makes calls in a process whose standard input is a file of the tree.
func stdin(name string, flags int, calls ...string) func(w world) string {
	return func(w world) string {
		w.t.Helper()
		c := w.command(w.args(calls...)...)
		c.Stdin = w.open(name, flags)
		return w.answers(c)
	}
}

func (w world) open(name string, flags int) *os.File {
	w.t.Helper()
	fd, err := unix.Open(w.tree.Path(name), flags|unix.O_CLOEXEC, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), name)
	w.t.Cleanup(func() { f.Close() })
	return f
}

// TestDescriptors: an open descriptor reads through every mask, and one that is
// open for reading can be re-opened for writing through /proc/self/fd where its
// mount is the host's. The command inherits none, and standard input that is
// such a one is refused or re-opened inside.
func TestDescriptors(t *testing.T) {
	run(t, false, "descriptors", []attack{
		{
			name: "directory", do: inherits(bob+"/memory", unix.O_RDONLY, "fd-openat =20 =x.md", "list =/proc/self/fd/20", "fd-chdir =20 =x.md"),
			want: everywhere(held("EBADF ENOENT EBADF")),
		},
		{
			name: "directory, O_PATH", do: inherits(bob+"/memory", unix.O_PATH, "fd-openat =20 =x.md", "read =/proc/self/fd/20/x.md"),
			want: everywhere(held("EBADF ENOENT")),
		},
		{name: "the host's root, O_PATH", do: func(w world) string {
			return inherits("/", unix.O_PATH, "fd-openat =20 ="+w.tree.Path(secret)[1:])(w)
		}, want: everywhere(held("EBADF"))},
		{
			name: "file", do: inherits(secret, unix.O_RDONLY, "fd-read =20", "read =/proc/self/fd/20"),
			want: everywhere(held("EBADF ENOENT")),
		},
		{
			name: "file, O_PATH", do: inherits(secret, unix.O_PATH, "read =/proc/self/fd/20"),
			want: everywhere(held("ENOENT")),
		},
		{
			name: "read-only file re-opened for writing", policy: work, do: inherits("out/file.txt", unix.O_RDONLY, "append =/proc/self/fd/20"),
			want: everywhere(held("ENOENT")),
		},
		{
			name: "file open for writing", policy: work, do: inherits("out/file.txt", unix.O_WRONLY|unix.O_APPEND, "fd-write =20"),
			want: everywhere(held("EBADF")),
		},
		{
			name: "stdin is a directory", do: stdin(bob+"/memory", unix.O_RDONLY, "fd-openat =0 =x.md"),
			want: everywhere(held("refused")),
		},
		{
			name: "stdin is O_PATH", do: stdin(secret, unix.O_PATH, "read =/proc/self/fd/0"),
			want: everywhere(held("refused")),
		},
		{
			name: "stdin is a file below a denied root", do: stdin(secret, unix.O_RDONLY, "fd-read =0"),
			want: everywhere(held("refused")),
		},
		{
			name: "stdin re-opened for writing", policy: work, do: stdin("out/file.txt", unix.O_RDONLY, "append =/proc/self/fd/0"),
			want: either(held("EROFS"), held("EACCES")),
		},
		{
			name: "stdin re-opened for writing, file not writable by default", policy: memory,
			do:   stdin("home/notes.txt", unix.O_RDONLY, "append =/proc/self/fd/0", "append =/dev/stdin"),
			want: either(held("EROFS EROFS"), held("EACCES EACCES")),
		},
	})
}

// TestNamespaceDescriptor: a descriptor of the host's mount namespace is a way
// back to it.
func TestNamespaceDescriptor(t *testing.T) {
	run(t, true, "descriptors", []attack{{
		name: "the host's mount namespace",
		do:   inherits("/proc/self/ns/mnt", unix.O_RDONLY, "fd-setns =20"),
		want: either(held("EPERM"), held("EPERM")),
	}})
}

// TestDirect: the ordinary ways to a denied tree and to what is read-only.
func TestDirect(t *testing.T) {
	link := func(t *testing.T, tr *testenv.Tree) { tr.Link(tr.Path(bob), "work/way") }
	run(t, false, "direct", []attack{
		{
			name: "read", calls: []string{"read " + secret, "list " + bob, "chdir " + bob}, want: wants{
				"bwrap": held("ENOENT ENOENT ENOENT"), "landlock": gap("names", "EACCES EACCES ok"), // chdir is no access
			},
		},
		{name: "read through a link", prepare: link, calls: []string{"read work/way/memory/x.md"}, want: either(held("ENOENT"), held("EACCES"))},
		{
			name: "read with other spellings", do: func(w world) string {
				return w.calls("read =//"+w.tree.Path(secret), "read ="+w.tree.Path(alice)+"/../bob//memory/./x.md", "read =/proc/self/root"+w.tree.Path(secret), "read =/proc/thread-self/cwd/../"+secret)
			},
			want: either(held("ENOENT ENOENT ENOENT ENOENT"), held("EACCES EACCES EACCES EACCES")),
		},
		{name: "read through io_uring", calls: []string{"uring-read " + secret}, want: either(held("ENOENT"), held("EACCES"))},
		{name: "copy_file_range", calls: []string{"copy " + secret + " work/file.txt"}, want: either(held("ENOENT"), held("EACCES"))},
		{name: "write", policy: work, calls: []string{"append out/file.txt", "create out/new", "mkdir out/dir", "unlink out/file.txt"}, want: either(
			held("EROFS EROFS EROFS EROFS"), held("EACCES EACCES EACCES EACCES"))},
		{name: "cut short", policy: work, calls: []string{"truncate out/file.txt", "open-trunc out/file.txt"}, want: either(held("EROFS EROFS"), held("EACCES EACCES"))},
		{name: "rename over", policy: work, calls: []string{"rename work/file.txt out/file.txt"}, want: either(held("EXDEV"), held("EACCES"))},
		{name: "exchange", policy: work, calls: []string{"exchange work/file.txt out/file.txt"}, want: either(held("EXDEV"), held("EACCES"))},
		{name: "link and write", policy: work, calls: []string{"link out/file.txt work/h", "link-fd out/file.txt work/i"}, want: either(held("EXDEV EXDEV"), held("EXDEV EXDEV"))},
		{name: "write through io_uring", policy: work, calls: []string{"uring-write out/file.txt"}, want: either(held("EROFS"), held("EACCES"))},
		{name: "read, and re-opened for writing", policy: work, calls: []string{"reopen out/file.txt"}, want: either(held("EROFS"), held("EACCES"))},
		{name: "copy_file_range over a file", policy: work, calls: []string{"copy work/file.txt out/file.txt"}, want: either(held("EROFS"), held("EACCES"))},
	})
}
