package testenv

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Tree is a scratch directory with a home in it, owned by the user that works
// there. Each test makes its own, and it is removed with the test.
type Tree struct {
	Dir  string // canonical
	User User
	t    testing.TB
}

// The texts of the two agents' memories, which a test looks for.
const (
	AliceText = "alice remembers the sea\n"
	BobText   = "bob remembers the mountain\n"
)

// NewTree makes a tree for u:
//
//	home/.letta/settings.json
//	home/.letta/agents/{alice,bob}/memory/x.md
//	home/notes.txt
//	work/file.txt  work/sub/deep.txt
//	out/file.txt   out/sub/deep.txt
//	tmp/
func NewTree(t testing.TB, u User) *Tree {
	t.Helper()
	dir, err := os.MkdirTemp("", "confine-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// What is mounted in the tree is the host's: removing would reach it.
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil || strings.Contains(string(mounts), dir+"/") {
			t.Errorf("leaving the scratch tree %q: something is mounted in it, or nobody knows (%v)", dir, err)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing the scratch tree: %v", err)
		}
	})
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	tree := &Tree{Dir: dir, User: u, t: t}
	tree.own("")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"home/.letta/settings.json":            "{}\n",
		"home/.letta/agents/alice/memory/x.md": AliceText,
		"home/.letta/agents/bob/memory/x.md":   BobText,
		"home/notes.txt":                       "notes\n",
		"work/file.txt":                        "work\n",
		"work/sub/deep.txt":                    "deep work\n",
		"out/file.txt":                         "outside\n",
		"out/sub/deep.txt":                     "deep outside\n",
	} {
		tree.Write(name, text)
	}
	tree.Mkdir("tmp")
	return tree
}

// Path returns the absolute path of a name in the tree. An absolute name stays
// as it is.
func (tr *Tree) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	if name == "" {
		return tr.Dir
	}
	return tr.Dir + "/" + name
}

// Home is the HOME of commands in the tree.
func (tr *Tree) Home() string { return tr.Path("home") }

// own gives a name to the tree's user, without following a link.
func (tr *Tree) own(name string) {
	tr.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Lchown(tr.Path(name), tr.User.UID, tr.User.GID); err != nil {
		tr.t.Fatal(err)
	}
}

// Mkdir makes a directory, and those above it.
func (tr *Tree) Mkdir(name string) {
	tr.t.Helper()
	if _, err := os.Lstat(tr.Path(name)); err == nil {
		return
	}
	if above := filepath.Dir(tr.Path(name)); above != tr.Dir {
		tr.Mkdir(above)
	}
	if err := os.Mkdir(tr.Path(name), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	tr.own(name)
}

// Write writes a file, and makes the directories above it.
func (tr *Tree) Write(name, text string) {
	tr.t.Helper()
	if above := filepath.Dir(tr.Path(name)); above != tr.Dir {
		tr.Mkdir(above)
	}
	WriteFile(tr.t, tr.Path(name), text, 0o644)
	tr.own(name)
}

// WriteProgram writes a file that can be executed.
func (tr *Tree) WriteProgram(name, text string) {
	tr.t.Helper()
	tr.Write(name, text)
	if err := os.Chmod(tr.Path(name), 0o755); err != nil {
		tr.t.Fatal(err)
	}
}

// WriteFile writes a file while no other test can start a process. A child that
// inherits the open file keeps it from being executed (ETXTBSY) until its exec.
func WriteFile(t testing.TB, file, text string, mode os.FileMode) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(file, []byte(text), mode)
	syscall.ForkLock.RUnlock()
	if err == nil {
		err = os.Chmod(file, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Link makes a symlink. The target is taken as it is.
func (tr *Tree) Link(target, name string) {
	tr.t.Helper()
	if err := os.Symlink(target, tr.Path(name)); err != nil {
		tr.t.Fatal(err)
	}
	tr.own(name)
}

// Node makes a fifo, or as root a device, by its mode and number.
func (tr *Tree) Node(name string, mode uint32, dev uint64) {
	tr.t.Helper()
	if err := unix.Mknod(tr.Path(name), mode|0o666, int(dev)); err != nil {
		tr.t.Fatalf("mknod %q: %v", name, err)
	}
	tr.own(name)
}

// Socket makes a socket that somebody listens on until the test ends.
func (tr *Tree) Socket(name string) {
	tr.t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: tr.Path(name)}); err != nil {
		tr.t.Fatalf("bind %q: %v", name, err)
	}
	if err := unix.Listen(fd, 64); err != nil {
		tr.t.Fatal(err)
	}
	tr.own(name)
}

// Read returns the text of a file as the host sees it.
func (tr *Tree) Read(name string) string {
	tr.t.Helper()
	text, err := os.ReadFile(tr.Path(name))
	if err != nil {
		tr.t.Fatal(err)
	}
	return string(text)
}

// Exists reports whether the host has the name.
func (tr *Tree) Exists(name string) bool {
	_, err := os.Lstat(tr.Path(name))
	return err == nil
}

// Snapshot describes every file of the tree: type, mode, owner, time of change,
// inode, and content. Access times are left out, because reading is allowed.
func (tr *Tree) Snapshot() map[string]string {
	tr.t.Helper()
	seen := make(map[string]string)
	err := filepath.WalkDir(tr.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		content := ""
		switch d.Type() {
		case 0:
			text, err := os.ReadFile(path)
			switch {
			case err == nil:
				content = fmt.Sprintf("%x", sha256.Sum256(text))
			case !errors.Is(err, fs.ErrPermission): // of a file that even its owner cannot read, what stat says
				return err
			}
		case fs.ModeSymlink:
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		seen[path] = fmt.Sprintf("ino %d mode %o owner %d:%d links %d mtime %d.%09d %s",
			st.Ino, st.Mode, st.Uid, st.Gid, st.Nlink, st.Mtim.Sec, st.Mtim.Nsec, content)
		return nil
	})
	if err != nil {
		tr.t.Fatal(err)
	}
	return seen
}

// Changed fails the test for every file that differs from an earlier snapshot.
func (tr *Tree) Changed(before map[string]string) {
	tr.t.Helper()
	after := tr.Snapshot()
	for path, was := range before {
		if is, ok := after[path]; !ok {
			tr.t.Errorf("%q is gone", path)
		} else if is != was {
			tr.t.Errorf("%q changed:\nbefore %s\nafter  %s", path, was, is)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			tr.t.Errorf("%q was left behind", path)
		}
	}
}
