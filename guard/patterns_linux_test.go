package guard_test

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/verdict"
)

// A pattern that matches something of another agent's is denied, with bash as the
// oracle of what it matches.
func TestPatternsAreDenied(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	h := scratch(t) + "/a/b/c/d/home" // so deep that no pattern leads out
	mkdir(t, h+"/proj/src", h+"/.letta/agents/agent-self/memory", h+"/.letta/agents/agent-other/memory")
	file(t, h+"/.letta/agents/agent-other/memory/x.md")
	g := crossAgent(t, h, nil)
	ways := [][]string{ // what may stand for each component of the way there
		{"..", "{src,..}", "{..,.}", "src/../..", "*/../..", "{{..,x},y}", "./..", ".."},
		{".letta", ".?etta", ".lett[a-z]", "{.letta,x}", ".*", ".letta/../.letta", "@(.letta|src)", "\\.letta"},
		{"agents", "a*", "[a]gents", "{agents,b}", "@(agents)", "agents/agent-self/..", "[!x]*", "**"},
		{"agent-other", "*", "agent-?ther", "agent-{self,other}", "!(agent-self)", "a{,gent-other}", "*r"},
		{"memory", "**", "*", "m+(e)mory", "{memory,}", "memory/*.md"},
	}
	random := rand.New(rand.NewPCG(3, 4))
	var patterns []string
	for range 1000 {
		var words []string
		for _, way := range ways {
			words = append(words, way[random.IntN(len(way))])
		}
		pattern := strings.Join(words, "/")
		if random.IntN(4) == 0 {
			pattern = h + "/proj/" + pattern
		}
		patterns = append(patterns, pattern)
	}
	// The pattern is written into the text, because braces are expanded in it only.
	var script strings.Builder
	script.WriteString("shopt -s extglob globstar nullglob\n")
	for _, p := range patterns {
		script.WriteString("printf '%s\\0' " + p + "; printf '\\1\\0'\n")
	}
	run := exec.Command(bash)
	run.Dir, run.Stdin = h+"/proj", strings.NewReader(script.String())
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	results := strings.Split(string(out), "\x01\x00")
	if len(results) != len(patterns)+1 {
		t.Fatalf("bash answered %d of %d patterns", len(results)-1, len(patterns))
	}
	other, reached := h+"/.letta/agents/agent-other", 0
	for i, pattern := range patterns {
		for match := range strings.SplitSeq(results[i], "\x00") {
			if match == "" {
				continue
			}
			if !filepath.IsAbs(match) {
				match = h + "/proj/" + match
			}
			real := filepath.Clean(match)
			if real != other && !strings.HasPrefix(real, other+"/") {
				continue
			}
			reached++
			input, err := json.Marshal(map[string]string{"pattern": pattern})
			if err != nil {
				t.Fatal(err)
			}
			if r := g.Judge(guard.Call{Tool: "Glob", Input: input, Cwd: h + "/proj"}); r.Decision != verdict.Deny {
				t.Errorf("%q is %s, and matches %q", pattern, r.Decision, match)
			}
			break
		}
	}
	if reached < 50 {
		t.Errorf("only %d patterns matched something of another agent's", reached)
	}
	t.Logf("%d of %d patterns matched something of another agent's", reached, len(patterns))
}
