package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// files makes a directory with one file of each sort that exec tells apart.
func files(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("one/tool", "#!/bin/sh\necho one", 0o755)
	write("two/tool", "#!/bin/sh\necho two", 0o755)
	write("two/only", "#!/bin/sh\necho only", 0o755)
	write("plain/tool", "not executable", 0o644)
	write("dir/tool/x", "a directory of the program's name", 0o644)
	write("script", "#! /bin/sh -e\nexit $1\n", 0o755)
	write("orphan", "#!/no/such/interpreter\n", 0o755)
	write("orphan-relative", "#!no-such\n", 0o755)
	write("chain", "#!"+dir+"/orphan\n", 0o755)
	write("interp-is-dir", "#!/etc\n", 0o755)
	write("bare", "#!\n", 0o755)
	write("garbage", "not a program", 0o755)
	write("empty", "", 0o755)
	write("elf", "\x7fELF and no more", 0o755)
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("script", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("gone", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The expectations are those of execvp(3), with the statuses of a POSIX shell.
func TestLookPath(t *testing.T) {
	dir := files(t)
	t.Chdir(dir)
	at := func(names ...string) string {
		for i, name := range names {
			if name != "" && name != "." {
				names[i] = dir + "/" + name
			}
		}
		return "PATH=" + strings.Join(names, ":")
	}
	for _, c := range []struct {
		name, program, path string
		want                string
		status              int
	}{
		{"the first on PATH", "tool", at("one", "two"), dir + "/one/tool", 0},
		{"only the second has it", "only", at("one", "two"), dir + "/two/only", 0},
		{"a missing directory is passed over", "tool", at("gone", "two"), dir + "/two/tool", 0},
		{"a file on PATH is passed over", "tool", at("script", "two"), dir + "/two/tool", 0},
		{"what cannot be executed is passed over", "tool", at("plain", "two"), dir + "/two/tool", 0},
		{"a directory of that name is passed over", "tool", at("dir", "two"), dir + "/two/tool", 0},
		{"what cannot be executed is remembered", "tool", at("plain", "gone"), "", ExitCannot},
		{"a directory of that name alone", "tool", at("dir"), "", ExitCannot},
		{"nowhere", "no-such", at("one", "two"), "", ExitNotFound},
		{"an empty element is the current directory", "script", at("one", ""), "./script", 0},
		{"an empty first element", "script", "PATH=:" + dir + "/one", "./script", 0},
		{"an empty PATH is the current directory", "script", "PATH=", "./script", 0},
		{"no PATH is not", "only", "HOME=/", "", ExitNotFound},
		{"no PATH has the system's programs", "sh", "HOME=/", "/bin/sh", 0},
		{"a relative element", "tool", "PATH=one", "one/tool", 0},
		{"a slash needs no PATH", "./script", at("one"), "./script", 0},
		{"a slash below", "one/tool", at("two"), "one/tool", 0},
		{"an absolute path", dir + "/two/tool", at("one"), dir + "/two/tool", 0},
		{"a link", "./link", "PATH=", "./link", 0},
		{"a path that is not there", "./gone", at("one"), "", ExitNotFound},
		{"a path below a file", "./script/x", at("one"), "", ExitNotFound},
		{"a dangling link", "./dangling", at("one"), "", ExitNotFound},
		{"a link loop", "./loop", at("one"), "", ExitCannot},
		{"a path that cannot be executed", "plain/tool", at("one"), "", ExitCannot},
		{"a directory", "./dir", at("one"), "", ExitCannot},
		{"a device", "/dev/null", at("one"), "", ExitCannot},
		{"no name", "", at("one"), "", ExitNotFound},
		{"dot", ".", at("one"), "", ExitCannot},
		{"a name that is too long", "./" + strings.Repeat("x", 300), at("one"), "", ExitCannot},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := LookPath(c.program, []string{c.path})
			if c.status == 0 {
				if err != nil || got != c.want {
					t.Errorf("LookPath(%q, %q) = %q, %v, want %q", c.program, c.path, got, err, c.want)
				}
				return
			}
			failed, ok := errors.AsType[*ExecError](err)
			if !ok || failed.Status != c.status || got != "" {
				t.Errorf("LookPath(%q, %q) = %q, %v, want status %d", c.program, c.path, got, err, c.status)
			}
		})
	}
}

func TestInterpreter(t *testing.T) {
	dir := files(t)
	for _, c := range []struct{ name, program, want string }{
		{"a script and its interpreter", "/script", "/bin/sh"},
		{"an interpreter that is not there", "/orphan", "/no/such/interpreter"},
		{"a script without one", "/bare", ""},
		{"no script", "/garbage", ""},
		{"an empty file", "/empty", ""},
		{"what is not there", "/gone", ""},
	} {
		if got := Interpreter(dir + c.program); got != c.want {
			t.Errorf("%s: Interpreter = %q, want %q", c.name, got, c.want)
		}
	}
}

// Candidates are what LookPath would try: its own answer is the first.
func TestCandidates(t *testing.T) {
	env := []string{"PATH=/no/such:/usr/bin::/bin"}
	got := Candidates("sh", env)
	first, err := LookPath("sh", env)
	if err != nil || len(got) == 0 || got[0] != first {
		t.Errorf("Candidates(sh) = %q, and LookPath says %q, %v", got, first, err)
	}
	if got := Candidates("no-such-program", env); len(got) != 0 {
		t.Errorf("Candidates(no-such-program) = %q", got)
	}
	if got := Candidates("./sh", env); len(got) != 1 || got[0] != "./sh" {
		t.Errorf("Candidates(./sh) = %q, want itself", got)
	}
}

// stepVar makes the test binary one of the steps below instead: what they do
// cannot be undone in a process.
const stepVar = "LAUNCH_TEST_STEP"

func TestMain(m *testing.M) {
	step := os.Getenv(stepVar)
	if step == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	os.Exit(map[string]func() int{"exec": stepExec, "close": stepClose}[step]())
}

// step runs the test binary as a step, and returns what it wrote.
func step(t *testing.T, name string, files []*os.File, args ...string) (out string, status int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(self, args...)
	run.Env = append(os.Environ(), stepVar+"="+name)
	run.ExtraFiles = files
	text, err := run.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(text), exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return string(text), 0
}

// stepExec executes its arguments and prints why that failed.
func stepExec() int {
	argv := os.Args[1:]
	if argv[0] == "E2BIG" {
		argv = []string{"/bin/true", strings.Repeat("x", 8<<20)}
	}
	err := Exec(argv, []string{"A=1"})
	fmt.Print(err)
	if failed, ok := errors.AsType[*ExecError](err); ok {
		return failed.Status
	}
	return 1
}

func TestExec(t *testing.T) {
	dir := files(t)
	for _, c := range []struct {
		name   string
		argv   []string
		status int
		want   string
	}{
		{"a program", []string{"/bin/sh", "-c", `echo "$0" "$A" "$@"; exit 7`, "zero", "", "a b"}, 7, "zero 1  a b\n"},
		{"the environment", []string{"/usr/bin/env"}, 0, "A=1\n"},
		{"a script", []string{dir + "/script", "9"}, 9, ""},
		{"a missing file", []string{dir + "/gone"}, 127, `command "` + dir + `/gone" not found`},
		{"a missing name", []string{"no-such"}, 127, `command "no-such" not found`},
		{"a missing interpreter", []string{dir + "/orphan"}, 127, `command "` + dir + `/orphan": its interpreter "/no/such/interpreter" is not there`},
		{"an interpreter that is relative", []string{dir + "/orphan-relative"}, 127, `command "` + dir + `/orphan-relative": its interpreter "no-such" is not there`},
		{"an interpreter that is a directory", []string{dir + "/interp-is-dir"}, 126, `command "` + dir + `/interp-is-dir" cannot run: permission denied`},
		{"a script that names none", []string{dir + "/bare"}, 126, `command "` + dir + `/bare" cannot run: exec format error`},
		{"no program", []string{dir + "/garbage"}, 126, `command "` + dir + `/garbage" cannot run: exec format error`},
		{"an empty file", []string{dir + "/empty"}, 126, `command "` + dir + `/empty" cannot run: exec format error`},
		{"a broken program", []string{dir + "/elf"}, 126, `command "` + dir + `/elf" cannot run: exec format error`},
		{"a directory", []string{dir + "/dir"}, 126, `command "` + dir + `/dir" cannot run: permission denied`},
		{"a file that is not executable", []string{dir + "/plain/tool"}, 126, `command "` + dir + `/plain/tool" cannot run: permission denied`},
		{"a link loop", []string{dir + "/loop"}, 126, `command "` + dir + `/loop" cannot run: too many levels of symbolic links`},
		{"too many arguments", []string{"E2BIG"}, 126, `command "/bin/true" cannot run: argument list too long`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, status := step(t, "exec", nil, c.argv...)
			if out != c.want || status != c.status {
				t.Errorf("Exec(%q): %q, status %d, want %q, status %d", c.argv, out, status, c.want, c.status)
			}
		})
	}
}

// The Go runtime raises the soft limit on open files for itself; the command
// must get what the launcher was started with.
func TestExecGivesBackTheFileLimit(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command("/bin/sh", "-c", `ulimit -Sn 123 && exec "$0" /bin/sh -c 'ulimit -Sn'`, self)
	run.Env = append(os.Environ(), stepVar+"=exec")
	if out, err := run.CombinedOutput(); err != nil || string(out) != "123\n" {
		t.Errorf("the command's limit is %q, %v, want 123", out, err)
	}
}

// stepClose marks descriptors and lists what a program executed then has.
func stepClose() int {
	// One beyond the usual, and one that is marked already.
	if err := unix.Dup3(1, 900, 0); err != nil {
		fmt.Print(err)
		return 1
	}
	if err := unix.Dup3(1, 901, unix.O_CLOEXEC); err != nil {
		fmt.Print(err)
		return 1
	}
	keep := []int{4, 901}
	if len(os.Args) > 1 {
		keep = []int{77}
	}
	mark := CloseOnExec
	if os.Getenv("LAUNCH_TEST_LIST") != "" {
		mark = func(keep []int) error {
			err := closeOnExecByList()
			for _, fd := range keep {
				unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
			}
			return err
		}
	}
	if err := mark(keep); err != nil {
		fmt.Print(err)
		return ExitFailure
	}
	fmt.Print(Exec([]string{"/bin/sh", "-c", `for fd in 0 1 2 3 4 5 6 7 8 900 901; do [ -e /proc/$$/fd/$fd ] && echo $fd; done; :`}, nil))
	return 1
}

func TestCloseOnExec(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	extra := []*os.File{null, null, null} // 3, 4 and 5
	if out, status := step(t, "close", extra); status != 0 || out != "0\n1\n2\n4\n901\n" {
		t.Errorf("the program has descriptors %q, status %d, want 0, 1, 2, 4 and 901", out, status)
	}
	if out, status := step(t, "close", extra, "keep"); status != ExitFailure || out != "descriptor 77: bad file descriptor" {
		t.Errorf("keeping a closed descriptor: %q, status %d", out, status)
	}
	t.Setenv("LAUNCH_TEST_LIST", "1")
	if out, status := step(t, "close", extra); status != 0 || out != "0\n1\n2\n4\n901\n" {
		t.Errorf("by list, the program has descriptors %q, status %d, want 0, 1, 2, 4 and 901", out, status)
	}
}
