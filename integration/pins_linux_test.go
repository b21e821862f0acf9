package integration

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestAncestorsArePinned: a directory above a denied or readonly root cannot be
// renamed or replaced where it lies in a place that the command may change.
func TestAncestorsArePinned(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			flags: crossFlags,
			rows: []row{
				{"rename", "home/.letta home/x", pinned, ""},
				{"rename", "home elsewhere", pinned, ""},
				{"rename", "home/.letta out/x", pinnedRootOut, ""},
				{"rename", agents + " home/.letta/x", pinnedRoot, ""},
				{"rename", alice + " " + agents + "/x", sealed, ""},
				{"rename", "out/sub work/x", allowed, "nothing hangs on it"},
			},
		}.run(t, b)
	})
}

// TestOneRunCannotPrepareTheNext: what the first run does to the tree must not
// let the second see bob.
func TestOneRunCannotPrepareTheNext(t *testing.T) {
	for name, script := range map[string]string{
		"move the tree away":             `mv ~/.letta ~/x; mkdir -p ~/.letta/agents/alice; true`,
		"move the home away":             `cd ..; mv home x; mkdir -p home/.letta/agents/alice; true`,
		"put a link in its place":        `mv ~/.letta ~/x; ln -s ~/x ~/.letta; true`,
		"swap alice for a link":          `rm -rf ~/.letta/agents/alice; ln -s bob ~/.letta/agents/alice; true`,
		"plant a link in alice":          `rm -rf ~/.letta/agents/alice/memory; ln -s ../bob/memory ~/.letta/agents/alice/memory; true`,
		"exchange the agents tree":       `mkdir ~/.letta/new; mv -T ~/.letta/new ~/.letta/agents; mv ~/.letta/agents ~/.letta/old; true`,
		"link bob's file to the outside": `ln ~/.letta/agents/bob/memory/x.md ~/stolen; cp ~/.letta/agents/bob/memory/x.md ~/copied; true`,
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				tr := testenv.NewTree(t, b.user)
				b.run(t, tr, crossFlags(tr), "sh", "-c", script)
				look := `grep -rs "" "$1"; cat ~/.letta/agents/alice/memory/x.md ~/x/agents/bob/memory/x.md ~/stolen ~/copied; true`
				argv := []string{"sh", "-c", look, "sh", tr.Dir}
				if res := b.run(t, tr, crossFlags(tr), argv...); strings.Contains(res.Stdout+res.Stderr, strings.TrimSpace(testenv.BobText)) {
					t.Errorf("the second run sees bob's memory: %+v", res)
				}
				if res := b.free(t, tr, argv...); !strings.Contains(res.Stdout, strings.TrimSpace(testenv.BobText)) {
					t.Errorf("control: bob's memory is gone from the host: %+v", res)
				}
			})
		})
	}
}

// TestMovingTheTreeWorksUnconfined is the control of the test above.
func TestMovingTheTreeWorksUnconfined(t *testing.T) {
	t.Parallel()
	b := box{user: testenv.Plain}
	tr := testenv.NewTree(t, b.user)
	b.free(t, tr, "sh", "-c", `mv ~/.letta ~/x`)
	if !tr.Exists("home/x/agents/bob/memory/x.md") {
		t.Error("control: the tree could not be moved without the launcher")
	}
}
