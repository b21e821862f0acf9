package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestReportedBubblewrapFailures: what users of other launchers saw a bubblewrap
// do on their hosts. The probe says it, in bubblewrap's words, and ends; a run
// that needs bubblewrap says 125, and its command does not run.
func TestReportedBubblewrapFailures(t *testing.T) {
	for name, c := range map[string]struct{ script, code, says string }{
		"no loopback":  {"echo 'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted' >&2; exit 1", "bwrap-failed", "RTM_NEWADDR"},
		"overflowuid":  {"echo \"bwrap: Can't read /proc/sys/kernel/overflowuid: No such file or directory\" >&2; exit 1", "bwrap-failed", "overflowuid"},
		"no sandbox":   {`while [ "$1" != -- ]; do shift; done; shift; exec "$@"`, "bwrap-failed", ""},
		"silence":      {"exit 1", "bwrap-failed", "the sandbox ended before the command could start"},
		"hangs":        {"trap '' TERM; while :; do sleep 0.1; done", "bwrap-timeout", "nothing happened"},
		"masked /proc": {"echo \"bwrap: Can't mount proc on /newroot/proc: Operation not permitted\" >&2; exit 1", "bwrap-proc-denied", "Can't mount proc"},
	} {
		t.Run(name, func(t *testing.T) {
			eachOn(t, "bwrap", func(t *testing.T, b box) {
				fake := program(t, filepath.Join(trustedDir(t), "bwrap"), "#!/bin/sh\n"+c.script+"\n")
				tr := testenv.NewTree(t, b.user)
				probe := b.command(t, tr, nil, "true")
				limit := "1m" // what ends by itself does so on a busy host, too
				if c.code == "bwrap-timeout" {
					limit = "2s"
				}
				probe.Argv = []string{probe.Argv[0], "probe", "--json", "--probe-timeout", limit, "--bwrap", fake}
				res := probe.Run(t)
				var said struct {
					Backends []struct {
						Usable                      bool
						Backend, Code, Reason, Hint string
						Steps                       []struct{}
					}
				}
				if err := json.Unmarshal([]byte(res.Stdout), &said); err != nil || len(said.Backends) == 0 || res.Stderr != "" {
					t.Fatalf("probe gave %+v, %v", res, err)
				}
				p := said.Backends[0]
				if p.Backend != "bwrap" || p.Usable || p.Code != c.code || !strings.Contains(p.Reason, c.says) || strings.Contains(p.Hint, "letta-confine probe") {
					t.Errorf("probe says %+v, want %s because of %q, and no hint to probe", p, c.code, c.says)
				}
				// What was killed may take a moment to end.
				eventually(t, "nothing is left of the probe", func() bool { return running(t, fake) == "" })
				if c.code == "bwrap-timeout" && len(p.Steps) != 1 {
					t.Errorf("after a step that hangs the probe went on: %d steps", len(p.Steps))
				}
				if c.code == "bwrap-timeout" {
					return // TestHangingBubblewrap
				}
				res = b.run(t, tr, append(crossFlags(tr), "--bwrap", fake), "touch", tr.Path("work/ran"))
				res.Stderr, _, _ = strings.Cut(res.Stderr, "\nletta-confine: hint:")
				refused(t, res, c.says, "")
				if tr.Exists("work/ran") {
					t.Error("the command ran")
				}
			})
		})
	}
}

// TestNoTreeIsWalked: how much there is below the roots is nothing to the launcher,
// which opens no directory in them.
func TestNoTreeIsWalked(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		opened := func() bool {
			n, err := unix.Read(fd, make([]byte, 4096))
			if err != nil && err != unix.EAGAIN {
				t.Fatal(err)
			}
			return n > 0
		}
		below := []string{"work/below", bob + "/memory", alice + "/memory"}
		tr.Mkdir(below[0])
		for _, dir := range below {
			if _, err := unix.InotifyAddWatch(fd, tr.Path(dir), unix.IN_OPEN|unix.IN_ACCESS); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range []flags{crossFlags(tr), workFlags(tr)} {
			if res := b.run(t, tr, f, "true"); res.Status != 0 || opened() {
				t.Errorf("with %q: %+v, and a directory below a root was opened", f, res)
			}
		}
		if b.free(t, tr, "ls", tr.Path(below[0])); !opened() {
			t.Error("control: ls opens the directory, and it is not seen")
		}
	})
}

// running returns a process that has the word in its command line, or nothing.
func running(t *testing.T, word string) string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), word) {
			return file + ": " + strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return ""
}
