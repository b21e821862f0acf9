package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

func init() { faces["mounted"] = mountedMain }

// mountedMain executes a program in a mount namespace of its own, as the user of
// the given ids, after some steps of which the first word says what to do. The
// program follows "--". What is mounted goes with the namespace.
func mountedMain(args []string) int {
	uid, err1 := strconv.Atoi(args[0])
	gid, err2 := strconv.Atoi(args[1])
	if err := errors.Join(err1, err2, unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, "")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	dir, err := os.Getwd()
	if err != nil {
		return 2
	}
	for args = args[2:]; args[0] != "--"; args = args[4:] {
		if err := step(args[0], args[1], args[2], args[3], uid, gid); err != nil {
			fmt.Fprintf(os.Stderr, "%q: %v\n", args[:4], err)
			return 2
		}
	}
	// The directory may have been mounted over; and the launcher must see what
	// the tests' own process does not.
	if err := errors.Join(os.Chdir(dir), unix.Setgroups(nil), syscall.Setgid(gid), syscall.Setuid(uid)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	fmt.Fprintln(os.Stderr, syscall.Exec(args[1], args[1:], os.Environ()))
	return 1
}

// step makes one change: a mount of from at to, or a file of that text.
func step(what, from, to, options string, uid, gid int) error {
	switch what {
	case "bind":
		return unix.Mount(from, to, "", unix.MS_BIND, "")
	case "rbind":
		return unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
	case "chroot":
		return errors.Join(os.Chdir(to), unix.Chroot("."))
	case "loop":
		if out, err := exec.Command("mount", "-o", "loop", from, to).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return os.Chown(to, uid, gid)
	case "file":
		if err := os.WriteFile(to, []byte(from), 0o644); err != nil {
			return err
		}
		return os.Chown(to, uid, gid)
	case "dir":
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		return os.Chown(to, uid, gid)
	case "fuse": // of a third user, whom alone it answers
		fd, err := unix.Open("/dev/fuse", unix.O_RDWR, 0) // stays open, or the mount is dead for that user too
		if err != nil {
			return err
		}
		return unix.Mount("test", to, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=4242,group_id=4242", fd))
	case "fold": // ignore case from now on
		if out, err := exec.Command("chattr", "+F", to).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	case "again": // a second mount of what is mounted at from
		text, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); f[4] == from {
				i := slices.Index(f, "-")
				return unix.Mount(f[i+2], to, f[i+1], 0, "")
			}
		}
		return errors.New("nothing is mounted there")
	}
	if err := unix.Mount(what, to, what, 0, options); err != nil {
		return err
	}
	return os.Chown(to, uid, gid)
}

// steps are what mountedMain does first: four words each, of which the second and
// third are names in the tree, but for the text of a "file".
type steps [][4]string

// mounted runs the calls confined, and then free, after the steps, and compares
// the answers. A row that is allowed has no control.
func (b box) mounted(t *testing.T, tr *testenv.Tree, s steps, f flags, rows ...row) {
	t.Helper()
	testenv.Need(t, testenv.FacilityRoot, testenv.HasRoot())
	argv := []string{testenv.Helper(t), "calls"}
	for _, r := range rows {
		argv = append(argv, r.args(tr)...)
	}
	for _, name := range []string{"confined", "control"} {
		program := argv
		if name == "confined" {
			program = b.command(t, tr, f, argv...).Argv
		}
		line := []string{testenv.Helper(t), "mounted", strconv.Itoa(b.user.UID), strconv.Itoa(b.user.GID)}
		for _, st := range s {
			if st[0] != "file" && st[1] != "" {
				st[1] = tr.Path(st[1])
			}
			line = append(line, st[0], st[1], tr.Path(st[2]), strings.ReplaceAll(st[3], "TREE", tr.Dir))
		}
		c := testenv.Command{User: testenv.Root, Dir: tr.Path("work"), Home: tr.Home(), Argv: append(append(line, "--"), program...)}
		res := c.Run(t)
		got := strings.Fields(res.Stdout)
		if res.Status != 0 || res.Stderr != "" || len(got) != len(rows) {
			t.Fatalf("%s: %d calls gave %+v", name, len(rows), res)
		}
		for i, r := range rows {
			want := "ok"
			if name == "confined" {
				want = r.want.errno(b.backend)
			}
			if got[i] != want {
				t.Errorf("%s: %v = %s, want %s", name, r, got[i], want)
			}
		}
	}
}

// TestAliases: another place that shows a denied root, what lies above it or a
// part of it, is denied as well.
func TestAliases(t *testing.T) {
	secret := "/memory/x.md"
	overlay := func(point string) steps { // of the home directory
		return steps{
			{"tmpfs", "", "tmp", ""},
			{"dir", "", "tmp/upper", ""},
			{"dir", "", "tmp/work", ""},
			{"overlay", "", point, "lowerdir=TREE/home,upperdir=TREE/tmp/upper,workdir=TREE/tmp/work"},
		}
	}
	for name, c := range map[string]struct {
		steps steps
		rows  []row
	}{
		"a bind of the denied root": {
			steps{{"bind", agents, "out/sub", ""}},
			[]row{{"read", "out/sub/bob" + secret, hidden, ""}, {"create", "out/sub/bob/new", hidden, ""}, {"read", "out/file.txt", allowed, ""}},
		},
		"a bind of what lies above": {
			steps{{"bind", "home", "out/sub", ""}},
			[]row{{"read", "out/sub/.letta/agents/bob" + secret, hidden, ""}, {"read", "out/sub/notes.txt", allowed, ""}},
		},
		"a bind of a part": {
			steps{{"bind", bob + "/memory", "out/sub", ""}},
			[]row{{"read", "out/sub/x.md", hidden, ""}},
		},
		"a bind of one file": {
			steps{{"bind", bob + secret, "out/file.txt", ""}},
			[]row{{"read", "out/file.txt", maskedFile, ""}},
		},
		"the upper layer of an overlay": {
			append(overlay("home"), [4]string{"file", "secret", bob + "/new.md", ""}),
			[]row{{"read", "tmp/upper/.letta/agents/bob/new.md", hidden, ""}},
		},
		"an overlay of what lies above": {
			overlay("out/sub"),
			[]row{{"read", "out/sub/.letta/agents/bob" + secret, hidden, ""}, {"read", "out/sub/notes.txt", allowed, ""}},
		},
		"a bind inside a bind": {
			steps{{"bind", "home/.letta", "out/sub", ""}, {"rbind", "out", "tmp", ""}},
			[]row{{"read", "out/sub/agents/bob" + secret, hidden, ""}, {"read", "tmp/sub/agents/bob" + secret, hidden, ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				tr := testenv.NewTree(t, b.user)
				rows := append(c.rows, row{"read", bob + secret, hidden, ""}, row{"append", alice + secret, allowed, ""})
				b.mounted(t, tr, c.steps, crossFlags(tr), rows...)
			})
		})
	}
}

// TestMountsInsideRoots: what is mounted below a denied root is hidden with it,
// and what is mounted in a carve-out comes back with it.
func TestMountsInsideRoots(t *testing.T) {
	for name, c := range map[string]struct {
		steps steps
		rows  []row
	}{
		"a tmpfs in the denied root": {
			steps{{"tmpfs", "", bob + "/memory", ""}, {"file", "secret", bob + "/memory/new.md", ""}},
			[]row{{"read", bob + "/memory/new.md", hidden, ""}},
		},
		"the denied root is a tmpfs": {
			steps{{"tmpfs", "", agents, ""}, {"dir", "", alice, ""}, {"file", "own", alice + "/own", ""}, {"file", "secret", agents + "/secret", ""}},
			[]row{{"read", agents + "/secret", hidden, ""}, {"append", alice + "/own", allowed, ""}},
		},
		"a tmpfs in the carve-out": {
			steps{{"tmpfs", "", alice + "/memory", ""}, {"file", "own", alice + "/memory/own", ""}},
			[]row{{"append", alice + "/memory/own", allowed, ""}, {"create", alice + "/memory/new", allowed, ""}, {"read", bob + "/memory/x.md", hidden, ""}},
		},
		"the home is a tmpfs": {
			steps{
				{"tmpfs", "", "home", ""},
				{"dir", "", "home/.letta", ""},
				{"dir", "", agents, ""},
				{"dir", "", alice, ""},
				{"dir", "", bob, ""},
				{"file", "own", alice + "/own", ""},
				{"file", "secret", bob + "/secret", ""},
			},
			[]row{{"read", bob + "/secret", hidden, ""}, {"append", alice + "/own", allowed, ""}, {"rename", "home/.letta home/x", pinned, ""}},
		},
		"the home is an overlay": {
			steps{
				{"tmpfs", "", "tmp", ""},
				{"dir", "", "tmp/upper", ""},
				{"dir", "", "tmp/work", ""},
				{"overlay", "", "home", "lowerdir=TREE/home,upperdir=TREE/tmp/upper,workdir=TREE/tmp/work"},
			},
			[]row{
				{"read", bob + "/memory/x.md", hidden, ""},
				{"append", alice + "/memory/x.md", allowed, "copied up"},
				{"create", alice + "/memory/new", allowed, ""},
				{"create", agents + "/new", sealed, ""},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				tr := testenv.NewTree(t, b.user)
				b.mounted(t, tr, c.steps, crossFlags(tr), c.rows...)
			})
		})
	}
}

// TestKernelFilesElsewhere: a chroot has /proc and /sys mounted in it, where uid 0 finds
// the same files that steer the kernel. Opening one for writing changes nothing.
func TestKernelFilesElsewhere(t *testing.T) {
	eachAsRoot(t, func(t *testing.T, b box) {
		s := steps{{"bind", "/proc", "work/proc", ""}, {"bind", "/sys", "work/sys", ""}, {"bind", "/proc/sys/kernel", "work/part", ""}}
		for _, flagsOf := range []func(*testenv.Tree) flags{crossFlags, workFlags} {
			tr := testenv.NewTree(t, b.user)
			for _, dir := range s {
				tr.Mkdir(dir[2])
			}
			b.mounted(t, tr, s, flagsOf(tr),
				row{"open-write", "work/proc/sys/kernel/core_pattern", readOnly, ""},
				row{"open-write", "work/part/core_pattern", readOnly, ""},
				row{"open-write", "work/sys/kernel/mm/transparent_hugepage/enabled", readOnly, ""},
				row{"open-write", "/proc/sys/kernel/core_pattern", readOnly, "the same file at its own place"},
				row{"read", "work/proc/sys/kernel/core_pattern", allowed, ""},
				row{"append", "work/file.txt", allowed, ""})
		}
		for _, root := range []string{"work/proc", "work/proc/sys"} {
			tr := testenv.NewTree(t, b.user)
			tr.Mkdir("work/proc")
			c := testenv.Command{User: testenv.Root, Dir: tr.Path("work"), Home: tr.Home(), Argv: append([]string{
				testenv.Helper(t), "mounted", "0", "0", "bind", "/proc", tr.Path("work/proc"), "", "--",
			}, b.command(t, tr, append(workFlags(tr), "--writable", tr.Path(root)), "true").Argv...)}
			refused(t, c.Run(t), "--writable", "steers the kernel")
		}
	})
}

// image makes a file system in a file, with what mkfs.ext4 takes besides.
func image(t *testing.T, tr *testenv.Tree, options ...string) string {
	t.Helper()
	tr.Write("out/image", "")
	if err := os.Truncate(tr.Path("out/image"), 16<<20); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("mkfs.ext4", append(append([]string{"-q", "-F"}, options...), tr.Path("out/image"))...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("mkfs.ext4: %w: %s", err, out)
	}
	testenv.Need(t, "ext4", err)
	line := []string{testenv.Helper(t), "mounted", "0", "0", "loop", tr.Path("out/image"), tr.Path("tmp"), "", "--", "/bin/true"}
	if res := (testenv.Command{User: testenv.Root, Dir: "/", Argv: line}).Run(t); res.Status != 0 {
		testenv.Need(t, "loop", errors.New(res.Stderr))
	}
	return "out/image"
}

// TestMountOfAnotherUser: a file system that answers one user alone lies somewhere.
// It keeps nobody else from being confined, and a mask lies on it like on any other.
func TestMountOfAnotherUser(t *testing.T) {
	if fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		testenv.Need(t, "fuse", fmt.Errorf("/dev/fuse: %w", err))
	} else {
		unix.Close(fd)
	}
	each(t, func(t *testing.T, b box) {
		for _, at := range []string{"out/fuse", "work/fuse", bob + "/fuse"} {
			tr := testenv.NewTree(t, b.user)
			s := steps{{"dir", "", at, ""}, {"fuse", "", at, ""}}
			b.mounted(t, tr, s, crossFlags(tr), row{"read", bob + "/memory/x.md", hidden, ""}, row{"list", "work", allowed, ""})
			tr = testenv.NewTree(t, b.user)
			b.mounted(t, tr, s, workFlags(tr), row{"create", "out/new", readOnly, ""}, row{"list", "work", allowed, ""})
		}
	})
}

// TestSecondMountOfADevice: the file system of the denied root is mounted twice.
func TestSecondMountOfADevice(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		testenv.Need(t, testenv.FacilityRoot, testenv.HasRoot())
		tr := testenv.NewTree(t, b.user)
		s := steps{
			{"loop", image(t, tr), "home/.letta", ""},
			{"dir", "", agents, ""},
			{"dir", "", alice, ""},
			{"dir", "", bob, ""},
			{"file", "secret", bob + "/secret", ""},
			{"file", "own", alice + "/own", ""},
			{"again", "home/.letta", "out/sub", ""},
		}
		b.mounted(t, tr, s, crossFlags(tr),
			row{"read", bob + "/secret", hidden, ""}, row{"read", "out/sub/agents/bob/secret", hidden, "the second mount"},
			row{"create", "out/sub/agents/bob/new", hidden, "the second mount"}, row{"append", alice + "/own", allowed, ""})
	})
}
