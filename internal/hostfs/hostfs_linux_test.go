package hostfs

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/policy"
)

var _ policy.FS = FS{}

// realDir returns a directory whose path goes through no symlink.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestLstatKinds(t *testing.T) {
	dir := realDir(t)
	write(t, dir+"/file")
	link(t, "file", dir+"/link")
	link(t, dir, dir+"/to-dir")
	link(t, "gone", dir+"/dangling")
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	t.Chdir(dir) // a socket's path is at most 107 bytes
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "socket"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		kind policy.Kind
	}{
		{dir, policy.Dir},
		{dir + "/file", policy.File},
		{dir + "/link", policy.Symlink},
		{dir + "/to-dir", policy.Symlink},
		{dir + "/dangling", policy.Symlink},
		{dir + "/to-dir/file", policy.File}, // only the last component is not followed
		{dir + "/fifo", policy.Other},
		{dir + "/socket", policy.Other},
		{"/dev/null", policy.Device},
		{"/", policy.Dir},
	} {
		info, err := FS{}.Lstat(c.path)
		if err != nil || info.Kind != c.kind {
			t.Errorf("Lstat(%q) = %v, %v, want %v", c.path, info.Kind, err, c.kind)
		}
		if info.ID == (policy.ID{}) {
			t.Errorf("Lstat(%q) has no identity", c.path)
		}
	}
	a, _ := FS{}.Lstat(dir + "/file")
	if b, _ := (FS{}).Lstat(dir + "/to-dir/file"); a.ID != b.ID {
		t.Errorf("one file has the identities %v and %v", a.ID, b.ID)
	}
	if b, _ := (FS{}).Lstat(dir + "/fifo"); a.ID == b.ID {
		t.Errorf("two files have the identity %v", a.ID)
	}
	for path, want := range map[string]error{dir + "/gone": unix.ENOENT, dir + "/file/x": unix.ENOTDIR, "": unix.ENOENT} {
		if _, err := (FS{}).Lstat(path); !errors.Is(err, want) {
			t.Errorf("Lstat(%q) = %v, want %v", path, err, want)
		}
	}
	if _, err := (FS{}).Lstat(dir + "/gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Lstat of a missing file: %v, want fs.ErrNotExist", err)
	}
}

func TestKindOfBlockDevice(t *testing.T) {
	if got := KindOf(unix.S_IFBLK | 0o600); got != policy.Device {
		t.Errorf("KindOf(block device) = %v", got)
	}
}

func TestReadlink(t *testing.T) {
	dir := realDir(t)
	long := strings.Repeat("x/", 1000) + "\xff\n"
	link(t, long, dir+"/link")
	if got, err := (FS{}).Readlink(dir + "/link"); err != nil || got != long {
		t.Errorf("Readlink = %d bytes, %v, want %d", len(got), err, len(long))
	}
	if _, err := (FS{}).Readlink(dir); !errors.Is(err, unix.EINVAL) {
		t.Errorf("Readlink of a directory: %v, want EINVAL", err)
	}
}

func TestMkdir(t *testing.T) {
	defer unix.Umask(unix.Umask(0o022))
	dir := realDir(t)
	made, err := Mkdir(dir+"/a/b/c", 0o750)
	if want := []string{dir + "/a", dir + "/a/b", dir + "/a/b/c"}; err != nil || !slices.Equal(made, want) {
		t.Errorf("Mkdir = %q, %v, want %q", made, err, want)
	}
	for _, d := range made {
		if info, err := os.Lstat(d); err != nil || info.Mode() != fs.ModeDir|0o750 {
			t.Errorf("%q is %v, %v", d, info.Mode(), err)
		}
	}
	if made, err := Mkdir(dir+"/a/b/d", 0o700); err != nil || !slices.Equal(made, []string{dir + "/a/b/d"}) {
		t.Errorf("Mkdir beside it = %q, %v", made, err)
	}
	if made, err := Mkdir(dir+"/a/b/c", 0o700); err != nil || len(made) != 0 {
		t.Errorf("Mkdir again = %q, %v", made, err)
	}
	if made, err := Mkdir("/", 0o700); err != nil || len(made) != 0 {
		t.Errorf(`Mkdir("/") = %q, %v`, made, err)
	}
}

// The path was canonical when it was resolved. A link that is there now was put
// there since, to have a directory made, and then written to, elsewhere.
func TestMkdirFollowsNoLink(t *testing.T) {
	for _, c := range []struct {
		name, target, path string
		want               error
	}{
		{"a link in the middle", "victim", "/link/new", unix.ENOTDIR},
		{"a link in the middle, deeper", "victim", "/link/new/below", unix.ENOTDIR},
		{"a link at the end", "victim", "/link", unix.ENOTDIR},
		{"an absolute link", "", "/link/new", unix.ENOTDIR},
		{"a dangling link", "gone", "/link", unix.ENOTDIR},
		{"a dangling link in the middle", "gone", "/link/new", unix.ENOTDIR},
		{"a link to itself", "link", "/link/new", unix.ENOTDIR},
		{"a link upwards", "..", "/link/new", unix.ENOTDIR},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := realDir(t)
			dir := top + "/dir"
			write(t, dir+"/victim/file")
			target := c.target
			if target == "" {
				target = dir + "/victim"
			}
			link(t, target, dir+"/link")
			made, err := Mkdir(dir+c.path, 0o755)
			if !errors.Is(err, c.want) || len(made) != 0 {
				t.Errorf("Mkdir(%q) = %q, %v, want %v", c.path, made, err, c.want)
			}
			for _, path := range []string{dir + "/victim/new", dir + "/gone", top + "/new"} {
				if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%q was made", path)
				}
			}
			// The control: what does follow links makes it, unless the link is a loop.
			if err := os.MkdirAll(dir+c.path, 0o755); err != nil && !errors.Is(err, unix.ELOOP) && !errors.Is(err, fs.ErrExist) {
				t.Errorf("os.MkdirAll: %v", err)
			}
		})
	}
}

func TestMkdirFails(t *testing.T) {
	dir := realDir(t)
	write(t, dir+"/file")
	if made, err := Mkdir(dir+"/file/x", 0o755); !errors.Is(err, unix.ENOTDIR) || len(made) != 0 {
		t.Errorf("Mkdir below a file = %q, %v, want ENOTDIR", made, err)
	}
	made, err := Mkdir(dir+"/new/"+strings.Repeat("x", 300)+"/y", 0o755)
	if !errors.Is(err, unix.ENAMETOOLONG) || !slices.Equal(made, []string{dir + "/new"}) {
		t.Errorf("Mkdir half way = %q, %v, want what was made and ENAMETOOLONG", made, err)
	}
	var perr *fs.PathError
	if _, err := Mkdir("/proc/new/x", 0o755); !errors.As(err, &perr) || perr.Path != "/proc/new" {
		t.Errorf("Mkdir below /proc: %v, want an error that names /proc/new", err)
	}
}

func TestOpenPlain(t *testing.T) {
	dir := realDir(t)
	write(t, dir+"/sub/file")
	link(t, "file", dir+"/sub/link")
	link(t, "sub", dir+"/to-sub")
	link(t, dir+"/sub", dir+"/to-sub-absolute")
	link(t, "gone", dir+"/dangling")
	t.Chdir(dir)
	for path, want := range map[string]error{
		dir + "/sub/file":                 nil,
		"sub/file":                        nil,
		"./sub/../sub/file":               nil,
		dir + "/sub/link":                 unix.ELOOP,
		dir + "/to-sub/file":              unix.ELOOP,
		"to-sub/file":                     unix.ELOOP,
		"to-sub/../sub/file":              unix.ELOOP,
		dir + "/to-sub-absolute/file":     unix.ELOOP,
		dir + "/dangling":                 unix.ELOOP,
		"/proc/self/cwd/sub/file":         unix.ELOOP,
		"/proc/thread-self/root/etc/stat": unix.ELOOP,
		dir + "/gone":                     unix.ENOENT,
		dir + "/sub/file/x":               unix.ENOTDIR,
		"":                                unix.ENOENT,
	} {
		fd, err := OpenPlain(path, unix.O_RDONLY, 0)
		if err != want {
			t.Errorf("OpenPlain(%q) = %v, want %v", path, err, want)
		}
		if err != nil {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("OpenPlain(%q) is not closed at exec", path)
		}
		unix.Close(fd)
	}
	// Creating goes through no link either: nothing appears at its target.
	for _, path := range []string{dir + "/dangling", dir + "/to-sub/new"} {
		if _, err := OpenPlain(path, unix.O_WRONLY|unix.O_CREAT, 0o600); err != unix.ELOOP {
			t.Errorf("OpenPlain(%q, O_CREAT) = %v, want ELOOP", path, err)
		}
	}
	for _, path := range []string{dir + "/gone", dir + "/sub/new"} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q was made", path)
		}
	}
	// A fifo without a writer does not make the launcher wait.
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := OpenPlain(dir+"/fifo", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatalf("OpenPlain(fifo) = %v", err)
	}
	unix.Close(fd)
}

// stepVar makes the test binary print what Replaceable says of its arguments.
const stepVar = "HOSTFS_TEST_STEP"

func TestMain(m *testing.M) {
	if os.Getenv(stepVar) == "" {
		os.Exit(m.Run())
	}
	can := (FS{}).Replaceable
	if os.Getenv(stepVar) == "file" {
		can = CanReplace
	}
	for _, dir := range os.Args[1:] {
		if can(dir) {
			os.Stdout.WriteString("yes ")
		} else {
			os.Stdout.WriteString("no ")
		}
	}
	os.Exit(0)
}

func TestReplaceable(t *testing.T) {
	dir := realDir(t)
	for name, mode := range map[string]os.FileMode{"mine": 0o755, "mine-closed": 0o000} {
		if err := os.Mkdir(dir+"/"+name, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path string
		want bool
	}{
		{dir + "/mine", true},
		{dir + "/mine-closed", true}, // the owner can give itself the mode
		{dir + "/gone", true},        // nothing is known
		{"/", os.Geteuid() == 0},
		{"/usr/bin", os.Geteuid() == 0},
	} {
		if got := (FS{}).Replaceable(c.path); got != c.want {
			t.Errorf("Replaceable(%q) = %v, want %v", c.path, got, c.want)
		}
	}
}

const nobody = 65534

// askAsNobody has a copy of the test binary in dir answer for the paths as
// another user.
func askAsNobody(t *testing.T, dir, step string, paths []string) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	self := dir + "/self"
	if err := os.WriteFile(self, text, 0o755); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(self, paths...)
	run.Env = []string{stepVar + "=" + step}
	run.Dir = "/"
	run.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := strings.Fields(string(out))
	if len(got) != len(paths) {
		t.Fatalf("answers %q to %d questions", got, len(paths))
	}
	return got
}

// As another user, on directories that root made.
func TestReplaceableByOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		if slices.Contains(strings.Split(os.Getenv("CONFINE_REQUIRE"), ","), "root") {
			t.Fatal("CONFINE_REQUIRE names root, and this is not")
		}
		t.Skip("needs root: it changes to another user")
	}
	top, err := os.MkdirTemp("", "hostfs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	if top, err = filepath.EvalSymlinks(top); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	var paths, want []string
	for _, c := range []struct {
		name     string
		uid, gid int
		mode     os.FileMode
		want     string
	}{
		{"root's", 0, 0, 0o755, "no"},
		{"root's, world-writable", 0, 0, 0o777, "yes"},
		{"root's, sticky", 0, 0, 0o777 | os.ModeSticky, "yes"},
		{"root's, group-writable for the group", 0, nobody, 0o775, "yes"},
		{"root's, group-readable for the group", 0, nobody, 0o755, "no"},
		{"root's, closed", 0, 0, 0o700, "no"},
		{"the user's", nobody, nobody, 0o755, "yes"},
		{"the user's, read-only", nobody, nobody, 0o555, "yes"},
		{"another's", 1, 1, 0o755, "no"},
	} {
		path := top + "/" + c.name
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, c.uid, c.gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		paths, want = append(paths, path), append(want, c.want)
	}
	// Below what cannot be searched nothing is known.
	paths, want = append(paths, top+"/root's, closed/x"), append(want, "yes")

	got := askAsNobody(t, top, "1", paths)
	for i, path := range paths {
		if got[i] != want[i] {
			t.Errorf("Replaceable(%q) as another user = %s, want %s", filepath.Base(path), got[i], want[i])
		}
	}
}
