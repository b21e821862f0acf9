package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// planted is a tree with a value in each layer, and what a run needs to get them.
type planted struct {
	*testenv.Tree
	values []string // environment, store, DSH's store, .env
	env    []string
	flags  flags
}

// plant makes values that no other test looks for.
func plant(t *testing.T, b box) planted {
	t.Helper()
	tr := testenv.NewTree(t, b.user)
	p := planted{Tree: tr, flags: workFlags(tr)}
	mark := "pl4nted-" + filepath.Base(tr.Dir) + "-" // the tree's name is random
	for i, layer := range []string{"env", "store", "dsh", "dotenv"} {
		p.values = append(p.values, mark+layer)
		p.flags = append(p.flags, "--credential", fmt.Sprintf("SECRET_%d=REF_%d", i, i))
	}
	p.env = []string{"REF_0=" + p.values[0]}
	for name, text := range map[string]string{
		"home/.config/letta-confine/credentials.yaml": "version: 1\nrefs:\n  REF_1: \"" + p.values[1] + "\"\n",
		"home/.dsh/.credentials.yaml":                 "version: 1\nrefs:\n  REF_2: " + p.values[2] + "\n",
		"work/.env":                                   "REF_3=" + p.values[3] + "\n",
	} {
		tr.Write(name, text)
		if err := os.Chmod(tr.Path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"home/.config/letta-confine", "home/.dsh"} {
		if err := os.Chmod(tr.Path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// search is the command line of a search for values.
func search(t *testing.T, values []string, paths ...string) []string {
	argv := []string{testenv.Helper(t), "search"}
	for _, v := range values {
		argv = append(argv, mirrored(v))
	}
	return append(append(argv, "--"), paths...)
}

// files are where values lie.
func (p planted) files() []string {
	return []string{p.Path("home"), p.Path("home/.config/letta-confine/credentials.yaml"), p.Path("home/.dsh/.credentials.yaml"), p.Path("work/.env")}
}

func (p planted) holdsNone(t *testing.T, what, text string) {
	t.Helper()
	for _, v := range p.values {
		if strings.Contains(text, v) {
			t.Errorf("%s holds the value %q: %q", what, v, text)
		}
	}
}

// TestCredentials: the command has its credentials in its own environment, and finds
// them nowhere else; nor does another confined command, while it runs.
func TestCredentials(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		p := plant(t, b)
		files := flags{"--report", p.Path("home/report"), "--audit-log", p.Path("home/audit")}
		cmd := b.command(t, p.Tree, append(p.flags, files...), "sh", "-c", "echo $SECRET_0 $SECRET_1 $SECRET_2 $SECRET_3; env | grep -c ^REF")
		cmd.Env = p.env
		res := cmd.Run(t)
		if want := strings.Join(p.values, " ") + "\n0\n"; res.Stdout != want {
			t.Fatalf("the command has %+v, want %q", res, want)
		}
		p.holdsNone(t, "the report", p.Read("home/report"))

		for _, more := range []flags{nil, {"--supervise"}, {"--fail-on-denial"}} {
			cmd = b.command(t, p.Tree, slices.Concat(p.flags, files, more), search(t, p.values, p.files()...)...)
			cmd.Env = p.env
			if res := cmd.Run(t); res.Stdout != "own\n" || res.Status != 0 {
				t.Errorf("with %q a command with credentials finds them in %q (%q), want its own environment alone", more, res.Stdout, res.Stderr)
			}
			p.holdsNone(t, "the report", p.Read("home/report"))
		}
		p.holdsNone(t, "the audit log", p.Read("home/audit"))

		// While a run with credentials goes on, beside its launcher.
		cmd = b.command(t, p.Tree, append(p.flags, "--supervise"), testenv.Helper(t), "sleep", "60000")
		cmd.Env = p.env
		running := cmd.Cmd(soon(t))
		start(t, running)
		pids := family(t, running.Process.Pid)
		if res := b.run(t, p.Tree, workFlags(p.Tree), search(t, p.values, p.files()[:3]...)...); res.Stdout != "" || res.Status != 0 {
			t.Errorf("another confined command finds them in %q (%q)", res.Stdout, res.Stderr)
		}

		// The control, and what an unconfined process of the same user sees: the
		// command's environment, which is nobody's secret from that user, and not
		// what the launcher knows. Root sees all.
		free := b.free(t, p.Tree, search(t, p.values, p.files()...)...)
		for _, want := range append(p.files()[1:], fmt.Sprintf("environ %d", pids[len(pids)-1])) {
			if !strings.Contains(free.Stdout, want+"\n") {
				t.Errorf("control: an unconfined search does not find %q: %q", want, free.Stdout)
			}
		}
		values := p.values
		if b.user.UID == 0 {
			values = values[1:] // what is in the launcher's own environment
		}
		for line := range strings.Lines(b.free(t, p.Tree, search(t, values)...).Stdout) {
			place, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case pid == fmt.Sprint(pids[len(pids)-1]):
			case place == "mem" && (b.user.UID == 0 || pid != fmt.Sprint(pids[0])):
				// Root's; or bubblewrap, or another test's, which hold none.
			default:
				t.Errorf("an unconfined process of the user finds a value in %q, of %v", line, pids)
			}
		}
	})
}

// TestCredentialsWithExec: the same without a supervisor.
func TestCredentialsWithExec(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		p := plant(t, b)
		cmd := b.command(t, p.Tree, append(p.flags, "--exec"), search(t, p.values, p.files()...)...)
		cmd.Env = p.env
		if res := cmd.Run(t); res.Stdout != "own\n" || res.Status != 0 {
			t.Errorf("the command finds values in %q (%q), want its own environment alone", res.Stdout, res.Stderr)
		}
	})
}

// TestCredentialsInErrors: whatever goes wrong, no value is said.
func TestCredentialsInErrors(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		p := plant(t, b)
		for _, c := range []struct {
			name   string
			flags  flags
			argv   []string
			status int
		}{
			{"no such command", nil, []string{"no-such"}, 127},
			{"no program", nil, []string{"/etc/hostname"}, 126},
			{"a report in a writable root", flags{"--report", p.Path("work/report")}, []string{"true"}, 125},
			{"a hidden working directory", flags{"--deny", p.Path("work/sub"), "--chdir", p.Path("work/sub")}, []string{"true"}, 125},
			{"another reference without a value", flags{"--credential", "X=NOWHERE"}, []string{"true"}, 125},
			{"a second variable of the name", flags{"--credential", "SECRET_0=REF_1"}, []string{"true"}, 125},
			{"a broken backend", flags{"--bwrap", "/bin/false"}, []string{"true"}, map[string]int{"bwrap": 125}[b.backend]},
			{"a descriptor that is not open", flags{"--keep-fd", "77"}, []string{"true"}, 125},
			{"errors as JSON", flags{"--error-format", "json", "--keep-fd", "77"}, []string{"true"}, 125},
			{"printing the policy", flags{"--print-policy"}, []string{"true"}, 0},
		} {
			t.Run(c.name, func(t *testing.T) {
				report := p.Path("home/report")
				os.Remove(report)
				f := slices.Concat(flags{"--report", report, "--audit-log", p.Path("home/audit")}, p.flags, c.flags)
				cmd := b.command(t, p.Tree, f, c.argv...)
				cmd.Env = append(p.env, "LETTA_CONFINE_TRACE=1")
				res := cmd.Run(t)
				if res.Status != c.status {
					t.Errorf("status %d (%.300q), want %d", res.Status, res.Stderr, c.status)
				}
				p.holdsNone(t, "what was said", res.Stdout+res.Stderr)
				if text, err := os.ReadFile(report); err == nil {
					p.holdsNone(t, "the report", string(text))
				}
			})
		}
		p.holdsNone(t, "the audit log", p.Read("home/audit"))
		plan := append([]string{testenv.Launcher(t), "plan", "--json", "--backend", b.backend}, p.flags...)
		cmd := testenv.Command{User: b.user, Dir: p.Path("work"), Home: p.Home(), Env: p.env, Argv: append(plan, "--", "true")}
		res := cmd.Run(t)
		if res.Status != 0 || !strings.Contains(res.Stdout, "REF_3") {
			t.Errorf("plan: %+v", res)
		}
		p.holdsNone(t, "the plan", res.Stdout+res.Stderr)
	})
}

// TestCredentialsInCrash: a launcher that is made to crash writes no core file, and
// no value in what it says. The control has no credential, and leaves one.
func TestCredentialsInCrash(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		p := plant(t, b)
		t.Run("with credentials", func(t *testing.T) {
			t.Parallel()
			said, dumped := b.crash(t, p, p.flags)
			if dumped {
				t.Error("a launcher with credentials left a core file")
			}
			if !strings.Contains(said, "goroutine ") {
				t.Errorf("the launcher did not crash as it should: %q", said)
			}
			p.holdsNone(t, "what a crash says", said)
		})
		t.Run("control", func(t *testing.T) {
			t.Parallel()
			if _, dumped := b.crash(t, p, workFlags(p.Tree)); !dumped {
				testenv.Need(t, "core-files", errors.New("a crash left none"))
			}
		})
	})
}

// crash has a launcher crash beside its command, and returns what it said and
// whether there is a core file.
func (b box) crash(t *testing.T, p planted, f flags) (said string, dumped bool) {
	argv := []string{"sh", "-c", `ulimit -c unlimited; exec "$@"`, "sh", testenv.Launcher(t), "--backend", b.backend}
	argv = append(append(argv, f...), "--", testenv.Helper(t), "sleep", "60000")
	cmd := testenv.Command{
		User: b.user, Dir: p.Path("work"), Home: p.Home(), Argv: argv, Env: append(p.env, "GOTRACEBACK=crash"),
	}.Cmd(t.Context())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start(t, cmd)
	if err := cmd.Process.Signal(unix.SIGABRT); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ws.Signaled() || ws.Signal() != unix.SIGABRT {
		t.Errorf("the launcher ended with %v, want SIGABRT", cmd.ProcessState)
	}
	return stderr.String(), ws.CoreDump()
}

// TestCredentialsAndMountPoints: a launcher that holds credentials cannot be looked at
// by another of the same user, which still removes the directory that it made for a
// denied root: it is no descendant of its command.
func TestCredentialsAndMountPoints(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		p := plant(t, b)
		missing := p.Path("work/missing")
		first := b.command(t, p.Tree, append(workFlags(p.Tree), "--deny", missing, "--report", p.Path("home/report")), "sh", "-c", "echo ready; cat")
		first.Stdin = nil
		cmd := first.Cmd(soon(t))
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		start(t, cmd)
		second := b.command(t, p.Tree, append(p.flags, "--chdir", p.Path("out")), testenv.Helper(t), "sleep", "60000")
		second.Env = p.env
		second.Argv = slices.DeleteFunc(second.Argv, func(a string) bool { return a == "SECRET_3=REF_3" })
		i := slices.Index(second.Argv, "--chdir")
		second.Argv = slices.Delete(second.Argv, i-1, i) // the --credential that it belonged to
		start(t, second.Cmd(soon(t)))
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if p.Exists("work/missing") {
			t.Errorf("the directory that was made for a mask stays: %s", p.Read("home/report"))
		}
	})
}

// TestCredentialStoreMadeLater: what is not there when a command starts is not hidden
// from it, and not made. A command that may write where a store would be can plant
// one; a run under a policy that restricts writes cannot.
func TestCredentialStoreMadeLater(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		before := tr.Snapshot()
		dir := tr.Path("home/.config/letta-confine")
		if res := b.run(t, tr, workFlags(tr), "sh", "-c", `mkdir -p "$0"`, dir); res.Status == 0 {
			t.Error("a command that may write the workspace alone made a store")
		}
		tr.Changed(before)
		free := flags{"--restrict-writes", "--writable", tr.Home()}
		if res := b.run(t, tr, free, "sh", "-c", `mkdir -p "$0"; echo x >"$0/credentials.yaml"; cat "$0/credentials.yaml"`, dir); res.Stdout != "x\n" {
			t.Errorf("docs/limits.md says that a store can be planted where writes are free: %+v", res)
		}
		// From then on it is hidden.
		if res := b.run(t, tr, free, "cat", dir+"/credentials.yaml"); res.Stdout != "" || res.Status == 0 {
			t.Errorf("a store can be read: %+v", res)
		}
	})
}

// TestCredentialStoreBehindLink: a store that is reached through a symlink, as of a home
// directory that is kept elsewhere, stays hidden from the run after one that may write
// beside the link.
func TestCredentialStoreBehindLink(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		for _, c := range []struct{ link, target, store, dir string }{
			{"home/.config", "out/dots", "out/dots/letta-confine/credentials.yaml", "out/dots/letta-confine"},
			{"home/.dsh/.credentials.yaml", "out/real.yaml", "out/real.yaml", "out"},
		} {
			tr := testenv.NewTree(t, b.user)
			tr.Write(c.store, "version: 1\nrefs:\n  REF: pl4nted\n")
			tr.Mkdir(path.Dir(c.link))
			tr.Link(tr.Path(c.target), c.link)
			read := []string{"cat", tr.Path(c.store)}
			replace := []string{"sh", "-c", `mv "$0" "$0.old" && mkdir "$0"`, tr.Path(c.link)}

			free := flags{"--restrict-writes", "--writable", tr.Home()}
			for _, argv := range [][]string{read, replace} {
				res := b.run(t, tr, free, argv...)
				if res.Status != 125 || !strings.Contains(res.Stderr, "a symlink that the command could replace") {
					t.Errorf("%q with a home that it may write gave %+v, want 125", argv, res)
				}
			}
			// Where the link is safe the store is hidden, and neither changes.
			for _, argv := range [][]string{read, replace} {
				if res := b.run(t, tr, workFlags(tr), argv...); res.Status != 1 || res.Stdout != "" {
					t.Errorf("%q in a workspace gave %+v, want status 1", argv, res)
				}
			}
			// The control: unconfined both succeed, and the store is hidden no more.
			for _, argv := range [][]string{replace, read} {
				if res := b.free(t, tr, argv...); res.Status != 0 {
					t.Errorf("control: %q gave %+v", argv, res)
				}
			}
			if res := b.run(t, tr, free, read...); !strings.Contains(res.Stdout, "pl4nted") {
				t.Errorf("control: after the link was replaced, reading gave %+v", res)
			}
		}
	})
}
