package guard_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/verdict"
)

// Whatever the spelling, a path by which a tool would read another agent's file is
// denied: the kernel says where it leads, as it is and with its text cleaned first.
func TestEverySpellingIsDenied(t *testing.T) {
	h := home(t)
	g := crossAgent(t, h, nil)
	secret, err := os.Stat(h + "/.letta/agents/agent-other/memory/x.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := []string{
		"..", "..", ".", "", "proj", "dir", "sub", "src", "mine", "sibling", "away", ".letta", "agents",
		"agent-self", "agent-other", "memory", "loop",
	}
	tails := []string{
		"dir/x.md", "proj//dir/./x.md", "sibling/memory/x.md", "agent-other/memory/x.md", "agents/agent-self/../agent-other/memory/x.md",
		"memory/x.md", "../.letta/agents/agent-other/memory/x.md", "x.md", "mine/../sibling/memory/x.md",
	}
	random := rand.New(rand.NewPCG(1, 2))
	reached := 0
	for range 30000 {
		words := make([]string, random.IntN(5))
		for i := range words {
			words[i] = parts[random.IntN(len(parts))]
		}
		text := strings.Join(append(words, tails[random.IntN(len(tails))]), "/")
		switch random.IntN(3) {
		case 0:
			text = h + "/" + text
		case 1:
			text = "~/" + text
		}
		cwd := h + []string{"", "/proj", "/.letta/agents/agent-self", "/proj/sub"}[random.IntN(4)]
		raw := strings.Replace(text, "~", h, 1)
		if !filepath.IsAbs(raw) {
			raw = cwd + "/" + raw
		}
		leads := false
		for _, way := range []string{raw, filepath.Clean(raw)} {
			info, err := os.Stat(way)
			leads = leads || err == nil && os.SameFile(info, secret)
		}
		if !leads {
			continue
		}
		reached++
		input, err := json.Marshal(map[string]string{"file_path": text})
		if err != nil {
			t.Fatal(err)
		}
		if r := g.Judge(guard.Call{Tool: "Read", Input: input, Cwd: cwd}); r.Decision != verdict.Deny {
			t.Errorf("%q in %q is %s, and leads to another agent's file", text, cwd, r.Decision)
		}
	}
	if reached < 500 {
		t.Errorf("only %d spellings led there", reached)
	}
	t.Logf("%d spellings led to another agent's file", reached)
}
