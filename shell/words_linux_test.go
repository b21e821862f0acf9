package shell

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// pieces are what words of all kinds of quoting and expansion are made of.
var pieces = []string{
	"a", "b", "x1", "1", "2", "$x", "${x}", "$y", `"$x"`, `"$y"`, "'q'", `"d"`, "{", "}", ",", "..", "{a,b}", "{1..3}", "{a,{b,c}}", `\`, `\{`, `\,`, `\$`,
	"~", "/", "=", "[", "]", "*", "?", `$'\x41'`, `$'\101b'`, `$'\n'`, `""`, "''", `$"s"`, `\\`, "!", "#", "%", "^", "-", "+", ":", "@", ".", "{a..c}", "{2..1}",
	"{01..3}", "{,z}", "{a}", "{}",
}

// What is said to be known is what bash makes of it: of words, of the targets of
// redirections and of assignments.
func TestWordsAsBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	testenv.Need(t, "bash", err)
	random := rand.New(rand.NewPCG(1, 2))
	type item struct{ src, want string }
	var items []item
	var script strings.Builder
	for range 6000 {
		var word strings.Builder
		for range 1 + random.IntN(6) {
			word.WriteString(pieces[random.IntN(len(pieces))])
		}
		if strings.HasSuffix(word.String(), `\`) {
			continue
		}
		form := []string{"f 1 @", "f 2 <@", "v=@ f 3"}[random.IntN(3)]
		src := "for x in va; do for y in 'v b'; do for x1 in other; do " + strings.ReplaceAll(form, "@", word.String()) + "; done; done; done"
		if want, ok := known(src); ok && (!strings.HasPrefix(want, "<<") || strings.Trim(want, "<./") != "") { // no directory
			items = append(items, item{src, want})
			script.WriteString("eval '" + strings.ReplaceAll(src, "'", `'\''`) + "' 2>&1 || echo; echo @@\n")
		}
	}
	run := exec.Command(bash, "--norc")
	run.Dir, run.Env = t.TempDir(), []string{"HOME=/home/u", "PATH=/usr/bin:/bin", "LC_ALL=C"}
	run.Stdin = strings.NewReader("f() { case $1 in 1) shift; printf '<%s>' \"$@\";; 3) printf '<%s>' \"$v\";; esac; echo; }\n" + script.String())
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(out), "@@\n")
	if len(items) < 1000 || len(parts) != len(items)+1 {
		t.Fatalf("bash ran %d of %d words", len(parts)-1, len(items))
	}
	for i, it := range items {
		got := strings.TrimSuffix(parts[i], "\n")
		if strings.HasPrefix(it.want, "<<") { // of the message that there is no such file
			_, got, _ = strings.Cut(strings.TrimSuffix(got, "\n"), ": line ")
			_, got, _ = strings.Cut(got, ": ")
			got, _, _ = strings.Cut("<<"+got, ": No such file or directory")
		}
		if got != it.want {
			t.Errorf("%s\n is %q\nnot %q", it.src, got, it.want)
		}
	}
}

// known is what a text says of its words, if it knows them all.
func known(src string) (string, bool) {
	s, err := Options{Vars: map[string]string{"HOME": "/home/u"}}.Parse(src)
	if err != nil || len(s.Doubts) > 0 || len(s.Commands) != 1 {
		return "", false
	}
	c := s.Commands[0]
	words := c.Argv[2:]
	out, end := "<", ">"
	for _, r := range c.Redirs {
		words, out, end = []Word{r.Target}, "<<", ""
	}
	for _, a := range c.Assigns {
		words = []Word{a.Value}
	}
	var texts []string
	for _, w := range words {
		if !w.Known {
			return "", false
		}
		texts = append(texts, w.Text)
	}
	return out + strings.Join(texts, "><") + end, true
}
