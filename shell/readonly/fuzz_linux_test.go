package readonly

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/letta-confine/letta-confine/internal/testenv"
	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/verdict"
)

// pieces are what texts are made of, beside those of the tables.
var pieces = strings.Split("ls|cat|a.txt|link/secret|PWN|touch|rm|echo|hi|find|.|-name|*|-delete|-exec|{}|\\;|+|sed|-n|1p|s/a/b/w PWN|-i|-e|w PWN|1e touch PWN|"+
	"sort|-o|-oPWN|--output=PWN|uniq|tee|;|&|&&||||\n|(|)|{|}|<|>|>>|<<E|E|<<'E'|$(|`|'|\"|\\|#|$'|\\x2d|${|:-|x|=|!|~|..|/|-|--|for|in|do|done|if|then|"+
	"else|fi|while|true|case|esac|;;|[[|]]|[|]|-eq|-f|a[$(touch PWN)]|printf|-v|xargs|env|sh -c|bash -c|dash -c|eval|command|time|nice|timeout 1|nohup|2>&1|"+
	"&>|>&|<>|<(|>(|$((|))|,|{a,b}|-{print,delete}|head|-1|wc|tail|grep|-r|-f|cut|-d|tr|diff|od|xxd|date|+%s|cd|read|test|$HOME|$x|\"$x\"|${x@P}|\\\n|\t| ", "|")

// lineOf makes a command line of fuzzed bytes: as it is, or of pieces.
func lineOf(data []byte) string {
	if len(data) == 0 || data[0] != 0 {
		return string(data)
	}
	var out strings.Builder
	for _, b := range data[1:] {
		if b&0x80 == 0 {
			out.WriteByte(' ')
		}
		out.WriteString(pieces[int(b&0x7f)%len(pieces)])
	}
	return out.String()
}

// FuzzShell runs what is said to only read, with every capability dropped and no
// network, where it could write: then nothing may have changed, and nothing of what
// lies outside the root may have been shown.
func FuzzShell(f *testing.F) {
	testenv.Need(f, testenv.FacilityBwrap, testenv.HasBwrap())
	p := newPlace(f)
	for name, text := range map[string]string{
		"evil.sh": "#!/bin/sh\ntouch PWN\n", "prog.sed": "1e touch PWN\n", "-oPWN": "", "-delete": "", "--pre=evil.sh": "", "ls": "#!/bin/sh\ntouch PWN\n", ".dot": "a\n",
	} {
		if err := os.WriteFile(filepath.Join(p.proj, name), []byte(text), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	before := snapshot(f, p.w)
	for _, row := range rows(f, "testdata/tricky.tsv") {
		var src string
		if err := json.Unmarshal([]byte(row["command_json"]), &src); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(src))
	}
	for i := range 200 { // neighbours in the list of pieces, and some that are not
		f.Add([]byte{0, byte(i), byte(i*7 + 3), byte(i*13 + 1), byte(i*29 + 5)})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		src := lineOf(data)
		for _, posix := range []bool{false, true} {
			s, err := (shell.Options{POSIX: posix, Vars: map[string]string{"HOME": p.home}}).Parse(src)
			if err != nil {
				continue
			}
			j := &Judge{Cwd: p.proj, Home: p.home, Roots: []string{p.proj}, Facts: Host{}}
			if Whole(s, j.Script(s)).Decision != verdict.Allow {
				continue
			}
			out := p.execute(t, posix, src)
			if bytes.Contains(out, []byte("from outside")) {
				t.Errorf("%q shows what lies outside: %q", src, out)
			}
			if after := snapshot(t, p.w); after != before {
				t.Fatalf("%q changes what is there, posix %v:\n%s\n%s", src, posix, before, after)
			}
		}
	})
}

// patience ends a command that waits for what does not come.
const patience = 20 * time.Second

// execute runs a command line in a sandbox in which it can write the scratch tree
// and nothing else.
func (p place) execute(t *testing.T, posix bool, src string) []byte {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	program := "bash"
	if posix {
		program = "dash"
	}
	run := exec.CommandContext(
		ctx, "bwrap", "--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv",
		"--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", p.home, "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
		"--symlink", "usr/lib64", "/lib64", "--dev", "/dev", "--proc", "/proc", "--bind", p.w, p.w, "--chdir", p.proj, program, "-c", src,
	)
	run.WaitDelay = time.Second
	out, err := run.CombinedOutput()
	if bytes.HasPrefix(out, []byte("bwrap:")) {
		t.Fatalf("the sandbox does not start: %v\n%s", err, out)
	}
	return out
}

// snapshot is everything that a command could have changed beneath a directory.
func snapshot(t testing.TB, dir string) string {
	var out strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s %v %d %v\n", name, info.Mode(), info.Size(), info.ModTime())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(name)
			fmt.Fprintf(&out, "%q %v\n", text, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The oracle sees a write and a leak: without it nothing above would mean a thing.
func TestFuzzOracle(t *testing.T) {
	testenv.Need(t, testenv.FacilityBwrap, testenv.HasBwrap())
	p := newPlace(t)
	before := snapshot(t, p.w)
	for _, posix := range []bool{false, true} {
		if out := p.execute(t, posix, "cat link/secret"); !bytes.Contains(out, []byte("from outside")) {
			t.Errorf("posix %v: a read of what lies outside shows %q", posix, out)
		}
		p.execute(t, posix, "touch PWN")
		if snapshot(t, p.w) == before {
			t.Errorf("posix %v: a write leaves no trace", posix)
		}
		if err := os.Remove(p.proj + "/PWN"); err != nil {
			t.Fatal(err)
		}
	}
}
