//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/credential"
	"github.com/letta-confine/letta-confine/internal/testenv"
)

// credentials runs letta-confine credentials in a home of its own.
func credentials(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(launcher(t), append([]string{"credentials"}, args...)...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
	return cmd
}

func storeOf(t *testing.T, home string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, ".config/letta-confine/credentials.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	refs, err := credential.ParseStore(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return refs
}

// Writers wait for one another: none loses what another stored.
func TestConcurrentWriters(t *testing.T) {
	home := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		cmd := credentials(t, home, "set", fmt.Sprintf("REF_%d", i))
		cmd.Stdin = strings.NewReader(fmt.Sprintf("value %d", i))
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	refs := storeOf(t, home)
	for i := range 8 {
		if got, want := refs[fmt.Sprintf("REF_%d", i)], fmt.Sprintf("value %d", i); got != want {
			t.Errorf("REF_%d is %q, want %q", i, got, want)
		}
	}
}

// A writer that is killed at any moment, or cannot write, leaves the old store or the
// new one, and the next writer goes on.
func TestKilledWriter(t *testing.T) {
	home := t.TempDir()
	set := func(value string) *exec.Cmd {
		cmd := credentials(t, home, "set", "REF")
		cmd.Stdin = strings.NewReader(value)
		return cmd
	}
	last := "first"
	if out, err := set(last).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i := range 40 {
		next := fmt.Sprintf("value %d", i)
		cmd := set(next)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * 200 * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait()
		if got := storeOf(t, home)["REF"]; got != last && got != next {
			t.Fatalf("after a kill the value is %q, want %q or %q", got, last, next)
		} else {
			last = got
		}
	}
	full := exec.Command("sh", "-c", `ulimit -f 0; trap '' XFSZ; exec "$0" credentials set REF`, launcher(t))
	full.Env, full.Stdin = set("").Env, strings.NewReader("does not fit")
	if out, err := full.CombinedOutput(); err == nil || strings.Contains(string(out), "does not fit") {
		t.Errorf("a value that cannot be written: %v\n%s", err, out)
	}
	if got := storeOf(t, home)["REF"]; got != last {
		t.Errorf("a writer that could not write left %q, want %q", got, last)
	}
	if out, err := set("end").CombinedOutput(); err != nil || storeOf(t, home)["REF"] != "end" {
		t.Errorf("the next writer: %v\n%s", err, out)
	}
	entries, err := os.ReadDir(filepath.Join(home, ".config/letta-confine"))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the store there is %v, %v", entries, err)
	}
}

// At a terminal set asks, and what is typed is not shown; ^C gives the terminal back
// and stores nothing.
func TestPrompt(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		stored     string
	}{
		{"a value", "pl4nted\n", "pl4nted"},
		{"nothing", "\n", ""},
		{"the end", "\x04", ""},
		{"an interrupt", "pl4nt\x03", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			master, slave := testenv.Terminal(t, testenv.User{UID: os.Geteuid(), GID: os.Getegid()})
			cmd := credentials(t, home, "set", "REF")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var shown bytes.Buffer
			buf := make([]byte, 256)
			for !strings.Contains(shown.String(), "not shown: ") {
				n, err := master.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				shown.Write(buf[:n])
			}
			if _, err := io.WriteString(master, c.keys); err != nil {
				t.Fatal(err)
			}
			err = cmd.Wait()
			if (err == nil) != (c.stored != "") {
				t.Errorf("set ended with %v", err)
			}
			after, tErr := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if tErr != nil || after.Lflag != before.Lflag {
				t.Errorf("the terminal has flags %#x, %v, want %#x", after.Lflag, tErr, before.Lflag)
			}
			n, _ := master.Read(buf) // the newline and whatever else there is
			shown.Write(buf[:n])
			if strings.Contains(shown.String(), "pl4n") {
				t.Errorf("the terminal shows %q", shown.String())
			}
			if _, err := os.Stat(filepath.Join(home, ".config/letta-confine/credentials.yaml")); c.stored == "" {
				if err == nil {
					t.Errorf("something was stored")
				}
			} else if got := storeOf(t, home)["REF"]; got != c.stored {
				t.Errorf("stored is %q, want %q", got, c.stored)
			}
		})
	}
}

// A service starts without HOME: the account's own stores are hidden all the same.
func TestStoresWithoutHome(t *testing.T) {
	account, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil || !filepath.IsAbs(account.HomeDir) {
		t.Fatalf("this account's home: %+v, %v", account, err)
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("DSH_HOME", "")
	for _, home := range []string{"", "relative", account.HomeDir} {
		t.Setenv("HOME", home)
		var got []string
		for _, h := range (&inputs{}).stores() {
			got = append(got, h.Path)
		}
		want := []string{account.HomeDir + "/.config/letta-confine", account.HomeDir + "/.dsh/.credentials.yaml", account.HomeDir + "/.dsh/.env"}
		if !slices.Equal(got, want) {
			t.Errorf("with HOME=%q the stores are %q, want %q", home, got, want)
		}
	}
}
