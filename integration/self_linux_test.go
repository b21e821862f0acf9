package integration

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// selfTried is one answer of explain --self --json, as far as these tests care.
type selfTried struct{ Path, For, Outcome, Cause, Errno, At string }

type selfSaid struct {
	Confined        bool
	Backend, Reason string
	Tried           []selfTried
}

func selfAnswer(t *testing.T, res testenv.Result) (said selfSaid) {
	t.Helper()
	if res.Status != 0 || res.Stderr != "" {
		t.Fatalf("explain --self: status %d\n%s", res.Status, res.Stderr)
	}
	if err := json.Unmarshal([]byte(res.Stdout), &said); err != nil {
		t.Fatalf("%v\n%s", err, res.Stdout)
	}
	return said
}

// Inside a run, the program tells what is denied by the sandbox, what by owners and
// modes, and what is not there. Each answer is held to a shell that does the same: it
// succeeds where the answer is that it is allowed, and nowhere else.
func TestExplainSelf(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for _, name := range []string{"home/secret.txt", "home/.letta/agents/bob/file", "home/kept/file", "work/file", "work/locked", "out/file"} {
			tr.Write(name, "text\n")
		}
		tr.Mkdir("work/shut")
		for name, mode := range map[string]os.FileMode{"work/locked": 0, "work/shut": 0o500} {
			if err := os.Chmod(tr.Path(name), mode); err != nil {
				t.Fatal(err)
			}
		}
		tr.Node("work/fifo", unix.S_IFIFO|0o600, 0)
		f := flags{
			"--restrict-writes", "--writable", tr.Path("work"), "--read-only", tr.Path("home/kept"),
			"--deny", tr.Path("home/secret.txt"), "--deny", tr.Path("home/.letta/agents/bob"),
		}
		plain := b.user != testenv.Root
		type want struct {
			path, op, do   string // what a shell does with "$1" to the same end
			outcome, cause string
		}
		const read, write, list = `cat "$1" >/dev/null`, `: >>"$1"`, `ls "$1" >/dev/null`
		table := []want{
			{"home/.letta/agents/bob/file", "read", read, "denied", "sandbox"},
			{"home/.letta/agents/bob/file", "write", write, "denied", "sandbox"},
			{"home/.letta/agents/bob/new", "create", write, "denied", "sandbox"},
			{"home/secret.txt", "read", read, "denied", "sandbox"},
			{"home/secret.txt", "write", write, "denied", "sandbox"},
			{"home/kept/file", "read", read, "allowed", ""},
			{"home/kept/file", "write", write, "denied", "sandbox"},
			{"home/kept", "list", list, "allowed", ""},
			{"home/kept/new", "create", write, "denied", "sandbox"},
			{"home/kept/new", "read", read, "missing", ""},
			{"out/file", "write", write, "denied", "sandbox"},
			{"out/file", "read", read, "allowed", ""},
			{"work/file", "write", write, "allowed", ""},
			{"work/new", "write", write, "allowed", ""},
			{"work/none/none", "create", write, "missing", ""},
			{"work/none/none", "read", read, "missing", ""},
			{"work/fifo", "read", "false", "unknown", ""},
		}
		if plain { // the rights of root's go past these
			table = append(table,
				want{"work/locked", "read", read, "denied", "permissions"},
				want{"work/locked", "write", write, "denied", "permissions"},
				want{"work/shut/new", "create", write, "denied", "permissions"},
				want{"/etc/shadow", "read", read, "denied", "permissions"},
			)
		} else {
			table = append(table, want{"work/locked", "read", read, "allowed", ""}, want{"work/shut/new", "create", write, "allowed", ""})
		}
		for _, w := range table {
			p := w.path
			if p[0] != '/' {
				p = tr.Path(w.path)
			}
			before := tr.Snapshot()
			began := time.Now()
			said := selfAnswer(t, b.run(t, tr, f, testenv.Launcher(t), "explain", "--self", "--json", "--for", w.op, p))
			tr.Changed(before)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("%s of %s took %v", w.op, w.path, took)
			}
			if !said.Confined || said.Backend != b.backend || len(said.Tried) != 1 {
				t.Fatalf("%s of %s: %+v, want one answer about %s", w.op, w.path, said, b.backend)
			}
			got := said.Tried[0]
			if got.Outcome != w.outcome || got.Cause != w.cause {
				t.Errorf("%s of %s: %+v, want %s %s", w.op, w.path, got, w.outcome, w.cause)
			}
			errno := map[string]string{"landlock": "EACCES", "bwrap": "EROFS"}[b.backend]
			if b.backend == "bwrap" && strings.HasPrefix(got.At, tr.Path("home")) && got.At != tr.Path("home/kept") {
				errno = "" // a mask is not asked; a program is told ENOENT there, EROFS or EACCES
			}
			if got.Cause == "sandbox" && got.Errno != errno {
				t.Errorf("%s of %s: %+v, want the error %s", w.op, w.path, got, errno)
			}
			did := b.run(t, tr, f, "/bin/sh", "-c", w.do, "sh", p)
			if (did.Status == 0) != (w.outcome == "allowed") {
				t.Errorf("%s of %s is %s, and a shell that does it ends with %d: %s", w.op, w.path, w.outcome, did.Status, did.Stderr)
			}
			os.Remove(tr.Path("work/new"))
			os.Remove(tr.Path("work/shut/new"))
			if w.cause == "sandbox" { // the control: without the launcher it is not denied
				if did := b.free(t, tr, "/bin/sh", "-c", w.do, "sh", p); did.Status != 0 {
					t.Errorf("%s of %s fails unconfined too: %s", w.op, w.path, did.Stderr)
				}
				os.Remove(tr.Path("home/kept/new"))
				os.Remove(tr.Path("home/.letta/agents/bob/new"))
			}
		}
	})
}

// Outside there is nothing to tell, whatever the variable says.
func TestExplainSelfOutside(t *testing.T) {
	tr := testenv.NewTree(t, testenv.Plain)
	b := box{"landlock", testenv.Plain}
	testenv.NeedBackend(t, b.backend, b.user)
	for _, env := range []string{"LETTA_CONFINE=", "LETTA_CONFINE=other", "LETTA_CONFINE=bwrap"} {
		argv := []string{testenv.Launcher(t), "explain", "--self", "--json", tr.Path("work")}
		said := selfAnswer(t, testenv.Command{User: b.user, Dir: tr.Path("work"), Home: tr.Home(), Env: []string{env}, Argv: argv}.Run(t))
		if said.Confined || said.Reason == "" || len(said.Tried) > 0 {
			t.Errorf("%s: %+v, want that it is not confined, and why", env, said)
		}
	}
}
