package integration

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestAnswererIsNotTheCommands: the socket of an answerer is open in neither run, and
// a command that shall keep it does not start.
func TestAnswererIsNotTheCommands(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		theirs := allows(t, func() {})
		script := `[ -e /proc/self/fd/3 ] && echo open; touch made`
		for _, f := range []flags{{"--widen-on-denial"}, nil} {
			c := b.asking(t, tr, append(widenFlags(tr, "fd:3"), f...), "sh", "-c", script)
			c.Files = []*os.File{theirs}
			if res := c.Run(t); res.Status != 0 || res.Stdout != "" || !tr.Exists("work/made") {
				t.Errorf("with %v the run gave %+v", f, res)
			}
			os.Remove(tr.Path("work/made"))
			c = b.asking(t, tr, append(widenFlags(tr, "fd:3"), append(f, "--keep-fd", "3")...), "sh", "-c", script)
			c.Files = []*os.File{theirs}
			if res := c.Run(t); res.Status != 125 || res.Stdout != "" || !strings.Contains(res.Stderr, `--answerer "fd:3": the command keeps that descriptor`) || tr.Exists("work/made") {
				t.Errorf("with %v and --keep-fd the run gave %+v", f, res)
			}
		}
		kept := b.asking(t, tr, append(modeFlags(tr), "--keep-fd", "3"), "sh", "-c", script)
		kept.Files = []*os.File{theirs}
		if res := kept.Run(t); res.Stdout != "open\n" {
			t.Errorf("where it keeps the descriptor a command gave %+v", res)
		}
	})
}

// allows is a socket whose other end allows all that is asked, after it has done
// something.
func allows(t *testing.T, first func()) *os.File {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	t.Cleanup(func() { theirs.Close() })
	go func() {
		defer ours.Close()
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			_, id, found := strings.Cut(string(buf[:n]), `"id":"`)
			if err != nil || !found {
				return
			}
			first()
			ours.WriteString(`{"id":"` + id[:32] + `","outcome":"allowed-once"}` + "\n")
		}
	}()
	return theirs
}

// TestWidenedToDanger: what a policy denies or keeps stays so in the widest mode, and
// nothing else does.
func TestWidenedToDanger(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.Write("home/secret", "hidden\n")
		tr.Write("work/kept", "kept\n")
		f := flags{"--mode", "workspace-write", "--widen", "danger-full-access", "--justification", "a test", "--answerer", "fd:3"}
		script := `cat ../home/secret; (echo x >>kept) 2>&-; echo x >../out/made`
		for _, c := range []struct {
			flags flags
			want  string
		}{
			{nil, "hidden\n"},
			{flags{"--deny", tr.Path("home/secret"), "--protect", tr.Path("work/kept")}, ""},
		} {
			run := b.asking(t, tr, append(c.flags, f...), "sh", "-c", script)
			run.Files = []*os.File{allows(t, func() {})}
			res := run.Run(t)
			kept := tr.Read("work/kept") == "kept\n"
			if res.Stdout != c.want || kept != (c.want == "") || !tr.Exists("out/made") {
				t.Errorf("with %v the run gave %+v, and the kept file is %q", c.flags, res, tr.Read("work/kept"))
			}
			if c.want == "" && (!strings.Contains(res.Stderr, "cat: ../home/secret: Permission denied") || !strings.Contains(res.Stderr, "only the rest of the policy is in force")) {
				t.Errorf("with %v the run says %s", c.flags, res.Stderr)
			}
			os.Remove(tr.Path("out/made"))
			tr.Write("work/kept", "kept\n")
		}
	})
}

// TestAnswerIsForWords: what a word of the command stands for is what is there when it
// starts, which may have changed since the question.
func TestAnswerIsForWords(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.WriteProgram("work/program", "#!/bin/sh\necho one\n")
		run := b.asking(t, tr, widenFlags(tr, "fd:3"), "./program")
		run.Files = []*os.File{allows(t, func() { tr.WriteProgram("work/program", "#!/bin/sh\necho another\n") })}
		if res := run.Run(t); res.Status != 0 || res.Stdout != "another\n" {
			t.Errorf("the run gave %+v", res)
		}
	})
}

// TestTerminalIsShared: what the narrow run left behind writes to the terminal where
// the question is, with words of its own; that is no answer. With processes of its own
// nothing is left of it.
func TestTerminalIsShared(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		for _, isolated := range []bool{false, true} {
			tr := testenv.NewTree(t, b.user)
			f := append(widenFlags(tr, "tty"), "--widen-on-denial")
			if isolated {
				f = append(f, "--isolate-processes")
			}
			p := b.sits(t, tr, f, "sh", "-c", `(sleep 1; echo "run ls? allow" >/dev/tty) & touch made`)
			p.waits(question)
			if isolated {
				time.Sleep(2 * time.Second)
			} else {
				p.waits("run ls? allow\r\n")
			}
			if painted := strings.Contains(p.screen(), "run ls? allow\r\n"); painted == isolated {
				t.Errorf("with processes of its own %v, that it writes is %v:\n%s", isolated, painted, p.screen())
			}
			if tr.Exists("work/made") {
				t.Error("the command ran again")
			}
			p.types("no\r")
			p.waits("was rejected")
			p.waits("status 1")
		}
	})
}

// TestSomebodyElsesFiles: a log, a store and a .env file that another user owns, who
// could have said there what is wanted, are none.
func TestSomebodyElsesFiles(t *testing.T) {
	testenv.Need(t, testenv.FacilityRoot, testenv.HasRoot())
	eachOn(t, "landlock", func(t *testing.T, b box) {
		for _, c := range []struct{ file, ref, says string }{
			{"out/log", "REF_0", `out/log": it is another user's`},
			{"home/.config/letta-confine/credentials.yaml", "REF_1", `credentials.yaml": its file belongs to uid 12345`},
			{"home/.dsh", "REF_2", `.credentials.yaml": its folder belongs to uid 12345`},
			{"work/.env", "REF_3", `.env": it belongs to uid 12345`},
		} {
			p := plant(t, b)
			p.Write("out/log", "")
			run := func() testenv.Result {
				cmd := b.asking(t, p.Tree, append(modeFlags(p.Tree), "--credential", "X="+c.ref), "printenv", "X")
				cmd.Env = append(cmd.Env, p.env...)
				return cmd.Run(t)
			}
			if res := run(); res.Status != 0 || !strings.Contains(res.Stdout, "pl4nted") {
				t.Errorf("control: with %s its own the run gave %+v", c.file, res)
			}
			info, err := os.Stat(p.Path(c.file))
			if err == nil {
				err = errors.Join(os.Chown(p.Path(c.file), 12345, -1), os.Chmod(p.Path(c.file), info.Mode()|0o055))
			}
			if err != nil {
				t.Fatal(err)
			}
			if res := run(); res.Status != 125 || res.Stdout != "" || !strings.Contains(res.Stderr, c.says) {
				t.Errorf("with another's %s the run gave %+v, want 125 and %q", c.file, res, c.says)
			}
		}
	})
}
