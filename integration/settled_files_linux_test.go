package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestSettled11StandardDescriptors: what was opened for reading cannot be opened
// again for writing through /proc/self/fd, standard output not either; what was
// opened for writing can.
func TestSettled11StandardDescriptors(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for mode, want := range map[int]string{os.O_RDONLY: readOnly.errno(b.backend), os.O_WRONLY: "ok"} {
			file, err := os.OpenFile(tr.Path("out/file.txt"), mode, 0)
			if err != nil {
				t.Fatal(err)
			}
			cmd := b.command(t, tr, workFlags(tr), "sh", "-c", `"$@" >answer`, "sh", testenv.Helper(t), "reopen", "2").Cmd(soon(t))
			cmd.Stderr = file
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
			file.Close()
			if got := strings.TrimSpace(tr.Read("work/answer")); got != "ok "+want && !(mode == os.O_WRONLY && strings.HasSuffix(got, " ok")) {
				t.Errorf("opening a descriptor of mode %d again = %s, want ok %s", mode, got, want)
			}
		}
	})
}

// TestSettled12OwnFiles: no link leads the launcher to a file, none that the
// command may write is taken, and no descriptor of them goes on to it.
func TestSettled12OwnFiles(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.Write("out/policy.json", crossText(t, tr))
		tr.Link(tr.Path("out/policy.json"), "out/planted")
		refused(t, b.run(t, tr, flags{"--policy", tr.Path("out/planted")}, "touch", "ran"), "symlink", "fd:N")
		refused(t, b.run(t, tr, append(workFlags(tr), "--report", tr.Path("out/planted")), "touch", "ran"), "--report", "")
		refused(t, b.run(t, tr, append(workFlags(tr), "--report", tr.Path("work/report")), "touch", "ran"), "can be changed", "fd:N")
		if tr.Read("out/policy.json") != crossText(t, tr) || tr.Exists("work/ran") || tr.Exists("work/report") {
			t.Error("a refused run changed something")
		}
		f := append(workFlags(tr), "--policy", tr.Path("out/policy.json"), "--report", tr.Path("out/report"), "--quiet")
		if s := b.state(t, tr, f); fmt.Sprint(s.FDs) != "[0 1 2]" {
			t.Errorf("the command has the descriptors %v, want 0, 1 and 2", s.FDs)
		}
	})
}

// TestSettled13Helpers: what the launcher starts next time must not lie where this
// command may write; as root with everything writable that leaves a gap.
func TestSettled13Helpers(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		places := []string{filepath.Dir(testenv.Launcher(t))}
		if b.backend == "bwrap" {
			places = append(places, "/usr/bin", "/usr/lib", "/usr")
		}
		for _, place := range places {
			for _, flag := range []string{"--writable", "--base-writable"} {
				if res := b.run(t, tr, flags{"--restrict-writes", flag, place}, "touch", tr.Path("out/ran")); res.Status != 125 || !strings.Contains(res.Stderr, "can be changed by the command") {
					t.Errorf("%s %s gave %+v, want a refusal", flag, place, res)
				}
			}
		}
		_, list := b.reported(t, tr, crossFlags(tr), "true")
		if got := strings.Contains(strings.Join(list[0].Gaps, " "), "deferred"); got != (b.user.UID == 0) {
			t.Errorf("gaps are %v for %s", list[0].Gaps, b.user.Name)
		}
	})
}

// TestSettled14TrustedPlaces: bubblewrap comes from the system or from root, and
// never through PATH.
func TestSettled14TrustedPlaces(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.WriteProgram("out/bwrap", "#!/bin/sh\ntouch "+tr.Path("out/started")+"\n")
		res := b.run(t, tr, append(crossFlags(tr), "--bwrap", tr.Path("out/bwrap")), "true")
		if res.Status != 125 || !strings.Contains(res.Stderr, "could be replaced") {
			t.Errorf("a bubblewrap below /tmp gave %+v, want a refusal", res)
		}
		c := b.command(t, tr, crossFlags(tr), "true")
		c.Env = []string{"PATH=" + tr.Path("out") + ":" + testenv.Path}
		if res := c.Run(t); res.Status != 0 || tr.Exists("out/started") {
			t.Errorf("a bubblewrap on the PATH: %+v", res)
		}
	})
}

// TestSettled16GoAhead: the stage inside executes nothing by itself, whoever
// starts it, and neither does one whose bubblewrap made no sandbox.
func TestSettled16GoAhead(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for _, argv := range [][]string{{"inner-stage"}, {"inner-stage", "0", "1"}, {"inner-stage", "5", "6"}, {"inner-stage", "x", "y"}} {
			if res := b.free(t, tr, append([]string{testenv.Launcher(t)}, argv...)...); res.Status != 125 {
				t.Errorf("%q gave %+v, want 125", argv, res)
			}
		}
		bare := `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`
		for name, script := range map[string]string{
			"no sandbox": bare,
			"no mask":    `exec /usr/bin/bwrap --bind / / --dev /dev --unshare-user-try -- "$@"`,
			"no command": `cat <&3 >/dev/null; exit 0`,
		} {
			fake := program(t, filepath.Join(trustedDir(t), "bwrap"), "#!/bin/sh\n"+strings.ReplaceAll(script, `-- "$@"`, `-- $(while [ "$1" != -- ]; do shift; done; shift; echo "$@")`)+"\n")
			if res := b.run(t, tr, append(crossFlags(tr), "--bwrap", fake), "touch", tr.Path("out/ran")); res.Status != 125 || tr.Exists("out/ran") {
				t.Errorf("%s: %+v, ran: %v, want a refusal", name, res, tr.Exists("out/ran"))
			}
		}
	})
}

// TestSettled17Sentinel: a variable proves nothing, and a launcher inside another
// confines once more.
func TestSettled17Sentinel(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for _, value := range []string{"bwrap", "seatbelt", "1"} {
			c := b.command(t, tr, crossFlags(tr), "sh", "-c", `cat "$0"; echo "${LETTA_SANDBOX-unset}"`, tr.Path(bob+"/memory/x.md"))
			c.Env = []string{"LETTA_SANDBOX=" + value, "LETTA_CONFINE=" + value}
			if res := c.Run(t); res.Stdout != "unset\n" {
				t.Errorf("with LETTA_SANDBOX=%s: %+v, want bob hidden and the variable gone", value, res)
			}
		}
		outer := box{backend: b.backend, user: b.user}
		inner := b
		inner.backend = "landlock"
		argv := inner.command(t, tr, append(crossFlags(tr), "--deny", tr.Path("out")), testenv.Helper(t), "calls", "read", tr.Path("out/file.txt"), "read", tr.Path("work/file.txt")).Argv
		if b.backend == "bwrap" { // Landlock inside Landlock cannot list what it splits
			if res := outer.run(t, tr, crossFlags(tr), argv...); res.Stdout != "EACCES\nok\n" {
				t.Errorf("a launcher inside another gave %+v", res)
			}
		}
	})
}

// TestSettled18Unobserved: what executes in place reports no end, says so, and
// cannot keep what needs somebody to stay.
func TestSettled18Unobserved(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		_, list := b.reported(t, tr, crossFlags(tr), "true")
		if eventNames(list) != "plan started" || list[0].Exit != "unobserved" {
			t.Errorf("the report is %+v, want no exit, and a plan that says so", list)
		}
		for _, flag := range []string{"--isolate-processes", "--die-with-parent", "--new-session"} {
			refused(t, b.run(t, tr, append(crossFlags(tr), flag), "touch", "ran"), flag, "use bubblewrap")
			auto := box{"auto", b.user}
			testenv.NeedBackend(t, "bwrap", b.user)
			if res := auto.run(t, tr, append(crossFlags(tr), "--prefer", "fast", flag), "sh", "-c", "echo $LETTA_CONFINE"); res.Stdout != "bwrap\n" {
				t.Errorf("auto with %s gave %+v, want bubblewrap", flag, res)
			}
		}
		if tr.Exists("work/ran") {
			t.Error("the command ran")
		}
	})
}

// TestSettled19NothingIsProbed: a bubblewrap that fails before the command is
// followed by Landlock, and is started once, for the run itself.
func TestSettled19NothingIsProbed(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		testenv.NeedBackend(t, "landlock", b.user)
		tr := testenv.NewTree(t, b.user)
		count := func(rest string) string {
			return program(t, filepath.Join(trustedDir(t), "bwrap"), "#!/bin/sh\necho start >>"+tr.Path("out/starts")+"\n"+rest+"\n")
		}
		b.backend = "auto"
		for want, rest := range map[string]string{"bwrap\n": `exec /usr/bin/bwrap "$@"`, "landlock\n": "exit 1"} {
			os.Remove(tr.Path("out/starts"))
			res := b.run(t, tr, append(workFlags(tr), "--bwrap", count(rest)), "sh", "-c", "echo $LETTA_CONFINE")
			if res.Stdout != want || tr.Read("out/starts") != "start\n" {
				t.Errorf("with %q: %+v and starts %q, want %q and one start", rest, res, tr.Read("out/starts"), want)
			}
		}
	})
}
