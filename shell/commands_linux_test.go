package shell

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// commandPieces are what texts of commands are made of.
var commandPieces = append(pieces, strings.Split("ca cb|cb a|ca|$(ca q)|\"$(cb q)\"|`ca b`|;|&&|\n|\\\n|>|>>|<|<>|>&|<&|2>&1|<&-|>& -|<<<|<<E\n|\nE\n|<<'E'\n|if ca; then|; fi|"+
	"for x in a b; do|; done|case a in a)|;; esac|while|!|time|time -p|--|x=1|FOO=bar|y=(a b)|#c|eval 'ca b'|eval|exec|command|builtin|env|env FOO=1|nice|"+
	"sh -c|bash -c 'ca b'|sh -c \"cb a\"|xargs ca|trap 'ca t' EXIT|trap --|set --|read x|cd .|${x:-b}|${z:-cb a}|$@|\"$@\"|$1|f() {|; }; f|{ |; }|( ca )|[[|]]", "|")...)

// What bash runs is among the commands that are found, whatever the words between
// them; the shell's own commands that only print are left out of it, and leave the
// same trace as one that is not there.
func TestCommandsAsBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	testenv.Need(t, "bash", err)
	dir := t.TempDir()
	trace, bin, home := dir+"/trace", dir+"/bin", dir+"/home"
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(bin, 0o755))
	for _, name := range []string{"env", "nice", "xargs", "bash"} {
		program, err := exec.LookPath(name)
		must(err)
		must(os.Symlink(program, bin+"/"+name))
	}
	must(os.Symlink(bash, bin+"/sh"))
	must(os.WriteFile(dir+"/rc", []byte("shopt -u sourcepath; enable -n echo printf test [ kill ulimit umask suspend history\n"+
		"command_not_found_handle() { builtin enable printf; builtin printf '%s\\0' \"$@\" $'\\1' >>"+trace+"; }\n"), 0o644))
	for _, name := range []string{"ca", "cb"} { // for xargs, env and nice
		must(os.WriteFile(bin+"/"+name, []byte("#!"+bash+"\nenable printf; printf '%s\\0' "+name+" \"$@\" $'\\1' >>"+trace+"\n"), 0o755))
	}
	joined := strings.NewReplacer("&&", "", ">&", "", "<&", "")
	random, ran := rand.New(rand.NewPCG(1, 3)), 0
	for range 2000 {
		var text strings.Builder
		for range 2 + random.IntN(8) {
			text.WriteString(commandPieces[random.IntN(len(commandPieces))])
			text.WriteString([]string{" ", " ", ""}[random.IntN(3)])
		}
		// No path, and no command in the background: the next text would find its trace.
		s, err := Parse(text.String())
		if err != nil || strings.Contains(text.String(), "/") || strings.Contains(text.String(), ">(") || strings.Contains(joined.Replace(text.String()), "&") {
			continue
		}
		must(os.RemoveAll(home))
		must(os.Mkdir(home, 0o755))
		must(os.WriteFile(trace, nil, 0o644))
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		run := exec.CommandContext(ctx, bash, "--norc", "-c", text.String())
		run.Dir, run.Env = home, []string{"PATH=" + bin, "HOME=" + home, "BASH_ENV=" + dir + "/rc", "ENV=" + dir + "/rc", "LC_ALL=C"}
		_ = run.Run() // most of them fail
		cancel()
		out, err := os.ReadFile(trace)
		must(err)
		for record := range bytes.SplitSeq(out, []byte("\x00\x01\x00")) {
			argv := strings.Split(string(record), "\x00")
			found := len(record) == 0 || argv[0] == "echo" // of xargs alone
			s.Each(func(c Command) {
				found = found || c.Hidden || becomes(c.Argv, argv) || len(c.Argv) > 0 && !c.Argv[0].Known && c.Argv[0].Split
			})
			if ran++; !found {
				t.Errorf("%q runs %q, which is not found", text.String(), argv)
			}
		}
	}
	if ran < 200 {
		t.Errorf("only %d commands ran", ran)
	}
}

// becomes reports whether words may be argv.
func becomes(words []Word, argv []string) bool {
	switch {
	case len(words) == 0:
		return len(argv) == 0
	case words[0].Split:
		for i := range len(argv) + 1 {
			if becomes(words[1:], argv[i:]) {
				return true
			}
		}
		return false
	}
	return len(argv) > 0 && (!words[0].Known || words[0].Text == argv[0]) && becomes(words[1:], argv[1:])
}
