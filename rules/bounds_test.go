package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/letta-confine/letta-confine/shell/readonly"
	"github.com/letta-confine/letta-confine/verdict"
)

// A call that takes long to judge is not allowed, and answered before a harness, which
// would then run it, stops waiting.
func TestBounds(t *testing.T) {
	dir := tree(t) + "/proj"
	s := &Set{Home: home, Facts: readonly.Host{}, Mode: "unrestricted"}
	for i := range 25 {
		if err := s.Add(Deny, dir, fmt.Sprintf("Read(a%d/**)", i), fmt.Sprintf("Edit(**/b%d)", i), "Bash(git *push* --force)"); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{
		"cd a; cd b; cd c; cd d; cd e; cd f; cd g; cd h; tool x",
		"cat /*/*/*/*/*",
		"tool " + strings.Repeat("/*/*/* ", 500),
		"tool " + strings.Repeat("* ", 3000),
		"git " + strings.Repeat("-a ", 3000),
	} {
		start := time.Now()
		got := Judge(ToolCall{Tool: "Bash", Input: map[string]any{"command": command}, Cwd: dir}, s, nil)
		if took := time.Since(start); got.Decision != verdict.Ask || took > 5*time.Second {
			t.Errorf("%.20s...: %v (%s) in %v", command, got.Decision, got.Reason, took)
		}
	}
}
