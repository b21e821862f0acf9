package integration

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestDevices: the devices that every program needs stay writable when writes
// are restricted, and nothing can be added beside them. That has no control,
// because it would change the host's own /dev.
func TestDevices(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		const planted = "/dev/confine-test"
		if _, err := os.Lstat(planted); err == nil {
			t.Fatalf("%s is there already", planted)
		}
		rows := []row{
			{"append", "/dev/null", allowed, ""},
			{"append", "/dev/zero", allowed, ""},
			{"read", "/dev/zero", allowed, ""},
			{"read", "/dev/urandom", allowed, ""},
			{"open-write", "/dev/full", allowed, ""},
			{"open-both", "/dev/ptmx", allowed, ""},
			{"create", planted, sealed, ""},
			{"mkdir", planted, sealed, ""},
			{"mknod-disk", planted, deviceNode, ""},
		}
		for i, got := range b.calls(t, tr, workFlags(tr), rows...) {
			if want := rows[i].want.errno(b.backend); got != want {
				t.Errorf("%v = %s, want %s", rows[i], got, want)
			}
		}
		if got := b.calls(t, tr, workFlags(tr), row{call: "append", paths: "/dev/full"})[0]; got != "ENOSPC" {
			t.Errorf("writing to /dev/full = %s, want ENOSPC", got)
		}
		if os.Remove(planted) == nil {
			t.Error("the command made something in the host's /dev")
		}
	})
}

// TestReadonlyDevices: a readonly root that is or holds the harmless devices
// leaves them to be read and written, as read-only mode does, and keeps the rest.
func TestReadonlyDevices(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		devices := []row{
			{"append", "/dev/null", allowed, ""},
			{"read", "/dev/urandom", allowed, ""},
			{"open-both", "/dev/ptmx", allowed, ""},
		}
		const planted = "/dev/shm/confine-test"
		for _, root := range []string{"/dev", "/dev/null", "/dev/urandom", "/dev/ptmx", "/dev/pts"} {
			rows := devices
			if root == "/dev" {
				rows = append(rows, row{"create", planted, readOnly, ""})
			}
			for i, got := range b.calls(t, tr, flags{"--read-only", root}, rows...) {
				if want := rows[i].want.errno(b.backend); got != want {
					t.Errorf("readonly root %s: %v = %s, want %s", root, rows[i], got, want)
				}
			}
		}
		if os.Remove(planted) == nil {
			t.Error("the command made something in the host's /dev/shm")
		}
		carved := []row{{call: "append", paths: "/dev/null"}, {call: "append", paths: "/dev/full"}}
		want := map[string]string{"bwrap": "ok ENOENT", "landlock": "ok EACCES"}[b.backend]
		if got := strings.Join(b.calls(t, tr, flags{"--deny", "/dev", "--read-only", "/dev/null"}, carved...), " "); got != want {
			t.Errorf("a device carved out of /dev, and another = %s, want %s", got, want)
		}
	})
}

// TestRootsInProc: a root at or below /proc is kept for every user, also where a
// user could write about processes of its own.
func TestRootsInProc(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		const own = "/proc/self/oom_score_adj"
		for _, f := range []flags{{"--read-only", "/proc"}, {"--deny", "/proc/cpuinfo"}, {"--restrict-writes", "--deny", "/proc/cpuinfo"}} {
			rows := []row{{call: "read", paths: "/proc/self/comm"}}
			want := "ok"
			if f[1] == "/proc" {
				rows = append(rows, row{call: "open-write", paths: own})
				want += " " + readOnly.errno(b.backend)
			} else {
				rows = append(rows, row{call: "read", paths: "/proc/cpuinfo"})
				want += " " + maskedFile.errno(b.backend)
			}
			if got := strings.Join(b.calls(t, tr, f, rows...), " "); got != want {
				t.Errorf("%q: %v = %s, want %s", f, rows, got, want)
			}
		}
		if res := b.free(t, tr, testenv.Helper(t), "calls", "open-write", own); res.Stdout != "ok\n" {
			t.Errorf("control: %+v", res)
		}
	})
}

// TestDisks: where something is denied, the disks' own nodes are not to be had,
// because with them goes every file on them.
func TestDisks(t *testing.T) {
	eachAsRoot(t, func(t *testing.T, b box) {
		disk := diskNode(t)
		tr := testenv.NewTree(t, b.user)
		want := map[string]string{"bwrap": "ENOENT", "landlock": "EACCES"}[b.backend]
		for name, f := range map[string]flags{"cross": crossFlags(tr), "memory": memoryFlags(tr)} {
			if got := b.calls(t, tr, f, row{call: "open-read", paths: disk})[0]; got != want {
				t.Errorf("%s: opening %s = %s, want %s", name, disk, got, want)
			}
		}
		if res := b.free(t, tr, testenv.Helper(t), "calls", "open-read", disk); res.Stdout != "ok\n" {
			t.Errorf("control: opening %s = %+v", disk, res)
		}
	})
}

// TestDisksElsewhere: no device opens inside bubblewrap, wherever its node is. Landlock
// knows /dev by its name alone, and has to be told of another by a denied root.
func TestDisksElsewhere(t *testing.T) {
	eachAsRoot(t, func(t *testing.T, b box) {
		var st unix.Stat_t
		if err := unix.Stat(diskNode(t), &st); err != nil {
			t.Fatal(err)
		}
		tr := testenv.NewTree(t, b.user)
		if err := unix.Mknod(tr.Path("out/disk"), unix.S_IFBLK|0o600, int(st.Rdev)); err != nil {
			t.Fatal(err)
		}
		ask := row{call: "open-read", paths: "out/disk"}
		want := map[string]string{"bwrap": "EACCES", "landlock": "ok"}[b.backend]
		if got := b.calls(t, tr, crossFlags(tr), ask)[0]; got != want {
			t.Errorf("opening a node outside /dev = %s, want %s", got, want)
		}
		if got := b.calls(t, tr, append(crossFlags(tr), "--deny", tr.Path("out/disk")), ask)[0]; got != "EACCES" {
			t.Errorf("opening a denied node = %s, want EACCES", got)
		}
		if res := b.free(t, tr, testenv.Helper(t), "calls", "open-read", tr.Path("out/disk")); res.Stdout != "ok\n" {
			t.Errorf("control: %+v", res)
		}
	})
}

// diskNode returns a block device of the host's /dev that root can open.
func diskNode(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir("/dev")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type()&os.ModeDevice != 0 && e.Type()&os.ModeCharDevice == 0 && open("/dev/"+e.Name(), unix.O_RDONLY|unix.O_NONBLOCK, false) == nil {
			return "/dev/" + e.Name()
		}
	}
	testenv.Need(t, "disk", errors.New("/dev has no block device that root can open"))
	return ""
}

// TestTerminal: a command with a controlling terminal can open /dev/tty.
func TestTerminal(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		_, slave := testenv.Terminal(t, b.user)
		tr := testenv.NewTree(t, b.user)
		c := b.command(t, tr, workFlags(tr), testenv.Helper(t), "calls", "open-both", "/dev/tty")
		cmd := c.Cmd(soon(t))
		cmd.Stdin = slave
		cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
		var out, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err != nil || out.String() != "ok\n" {
			t.Errorf("opening /dev/tty = %q, %v; stderr %q", out.String(), err, stderr.String())
		}
	})
}

// TestOpenpty: programs that make terminals of their own can do so.
func TestOpenpty(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		argv := []string{python, "-c", "import os, pty; m, s = pty.openpty(); os.write(s, b'x'); print(os.read(m, 1).decode())"}
		free := b.free(t, tr, argv...)
		if free.Stdout != "x\n" {
			testenv.Need(t, testenv.FacilityTools, fmt.Errorf("pty.openpty unconfined: %s", lastLine(free.Stderr)))
		}
		if res := b.run(t, tr, workFlags(tr), argv...); res.Stdout != "x\n" {
			t.Errorf("pty.openpty gave %+v, want it to work", res)
		}
	})
}

// python is the system's own: one that a version manager puts on the PATH may
// not be readable for every user.
const python = "/usr/bin/python3"

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
