package integration

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestRunCannotRewriteTheNextPolicy: a command tries to put a policy without
// denied roots where the next run reads its own. Bubblewrap keeps the file and
// its place; Landlock alone cannot, and warns.
func TestRunCannotRewriteTheNextPolicy(t *testing.T) {
	file := "out/etc/policy.json"
	for name, c := range map[string]struct {
		rows []row // that would do it
		want string
	}{
		"by writing":               {[]row{{call: "forge", paths: file}}, "EROFS"},
		"by a file renamed over":   {[]row{{call: "forge", paths: "out/etc/forged"}, {call: "rename", paths: "out/etc/forged " + file}}, "ok EBUSY"},
		"by removing and making":   {[]row{{call: "unlink", paths: file}, {call: "forge", paths: file}}, "EBUSY EROFS"},
		"by renaming it away":      {[]row{{call: "rename", paths: file + " out/x"}, {call: "forge", paths: file}}, "EXDEV EROFS"},
		"by renaming its parent":   {[]row{{call: "rename", paths: "out/etc out/x"}, {call: "mkdir", paths: "out/etc"}, {call: "forge", paths: file}}, "EBUSY EEXIST EROFS"},
		"by renaming what is over": {[]row{{call: "rename", paths: "out x"}, {call: "mkdir", paths: "out"}, {call: "mkdir", paths: "out/etc"}, {call: "forge", paths: file}}, "EBUSY EEXIST EEXIST EROFS"},
		"by a link in its place":   {[]row{{call: "forge", paths: "work/forged"}, {call: "unlink", paths: file}, {call: "symlink", paths: "work/forged " + file}}, "ok EBUSY EEXIST"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				run := func(confined bool) (tr *testenv.Tree, answers, warning string) {
					tr = testenv.NewTree(t, b.user)
					tr.Write(file, crossText(t, tr))
					argv := []string{testenv.Helper(t), "calls"}
					for _, r := range c.rows {
						argv = append(argv, r.args(tr)...)
					}
					if confined {
						argv = b.command(t, tr, flags{"--policy", tr.Path(file)}, argv...).Argv
					}
					res := b.free(t, tr, argv...)
					return tr, strings.Join(strings.Fields(res.Stdout), " "), res.Stderr
				}
				next := func(tr *testenv.Tree) testenv.Result {
					return b.run(t, tr, flags{"--quiet", "--policy", tr.Path(file)}, "cat", tr.Path(bob+"/memory/x.md"))
				}
				tr, answers, warning := run(true)
				if b.backend == "landlock" {
					if !strings.HasPrefix(warning, "letta-confine: warning: --policy ") || !strings.Contains(warning, "can be changed by the command") {
						t.Errorf("the launcher said %q, want a warning about the policy file", warning)
					}
				} else {
					if answers != c.want || warning != "" {
						t.Errorf("the calls gave %s (%q), want %s", answers, warning, c.want)
					}
					if res := next(tr); strings.Contains(res.Stdout, testenv.BobText) || res.Status == 125 {
						t.Errorf("the next run with that policy: %+v, want bob hidden", res)
					}
				}
				// A link in the path of a policy is refused; the others work.
				tr, _, _ = run(false)
				if res := next(tr); strings.Contains(res.Stdout, testenv.BobText) == (res.Status == 125) {
					t.Errorf("control: after the same calls unconfined the next run gave %+v, want bob's memory or a refusal", res)
				}
			})
		})
	}
}
