package hook_test

import (
	"os/exec"
	"testing"

	"github.com/letta-confine/letta-confine/hook"
)

// What Quote gives is one word, and the same one, to the shells that harnesses use.
func TestQuoteInShells(t *testing.T) {
	for _, sh := range []string{"bash", "dash"} {
		path, err := exec.LookPath(sh)
		if err != nil {
			t.Logf("there is no %s here", sh)
			continue
		}
		for _, word := range []string{
			"", "plain", "a b", "it's", `a"b`, "$HOME `id` $(id)", `back\slash\\`, "line\nline\n", "\t\n'\n\"\t", "!!", "~", "{a,b}", "*",
			"a=b\nc=d", "#x", "-n", "é", "if", "a;b&c|d<e>f(g)", "%s", "'\n'", "\\\n",
		} {
			quoted, err := hook.Quote(word)
			if err != nil {
				t.Errorf("Quote(%q) = %v", word, err)
				continue
			}
			out, err := exec.Command(path, "-c", "printf '<%s>' "+quoted).Output()
			if err != nil || string(out) != "<"+word+">" {
				t.Errorf("%s reads %q as %q, %v, want %q", sh, quoted, out, err, word)
			}
		}
	}
}
