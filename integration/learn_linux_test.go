package integration

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestLearn: the policy that learn prints lets the same command pass; what it was made
// from does not, and neither does it let more pass than that.
func TestLearn(t *testing.T) {
	testenv.Companion(t)
	_, err := exec.LookPath("strace")
	testenv.Need(t, testenv.FacilityTools, err)
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		agents := tr.Path("home/.letta/agents")
		script := []string{"sh", "-e", "-c", `
			cat ` + agents + `/bob/memory/x.md
			echo x >here
			rm -rf ` + tr.Path("out/made") + `
			mkdir ` + tr.Path("out/made") + `
			echo y >` + tr.Path("out/made/deep") + `
			(cd ` + tr.Path("out/sub") + ` && echo z >>deep.txt && chmod 600 deep.txt)
			echo n >>$HOME/notes.txt
			for i in 1 2 3 4 5 6; do mkdir -p $HOME/.tool/$i; echo >$HOME/.tool/$i/f; done`}
		base := append(workFlags(tr), "--deny", agents)

		res := b.run(t, tr, base, script...)
		if res.Status == 0 {
			t.Fatalf("control: with what learn is given, the command passes: %+v", res)
		}
		line := append(append([]string{testenv.Launcher(t), "learn"}, base...), "--")
		learned := b.free(t, tr, append(line, script...)...)
		if learned.Status != 0 || !strings.HasPrefix(learned.Stdout, `{"version":1,`) || strings.Count(learned.Stdout, "\n") != 1 {
			t.Fatalf("learn gave %+v, want a policy alone", learned)
		}
		if !strings.Contains(learned.Stderr, testenv.BobText) || strings.Contains(learned.Stderr, "not granted") {
			t.Errorf("beside it stands %q", learned.Stderr)
		}
		for _, root := range []string{agents + "/bob/memory/x.md", tr.Path("out"), tr.Path("home/notes.txt"), tr.Path("home/.tool"), tr.Path("work")} {
			if !strings.Contains(learned.Stdout, `"`+root+`"`) {
				t.Errorf("the policy has no root %q: %s", root, learned.Stdout)
			}
		}
		file := tr.Path("policy.json")
		if err := os.WriteFile(file, []byte(learned.Stdout), 0o644); err != nil {
			t.Fatal(err)
		}
		own := flags{"--policy", file}
		if res := b.run(t, tr, own, script...); res.Status != 0 || res.Stdout != testenv.BobText {
			t.Errorf("with the policy the command gave %+v\n%s", res, learned.Stdout)
		}
		for _, more := range []string{"cat " + agents + "/alice/memory/x.md", "echo x >$HOME/other", "echo x >>$HOME/.letta/settings.json"} {
			if res := b.run(t, tr, own, "sh", "-c", more); res.Status == 0 {
				t.Errorf("the policy also lets pass %q", more)
			}
			if free := b.free(t, tr, "sh", "-c", more); free.Status != 0 {
				t.Errorf("unconfined, %q gave %+v, want success", more, free)
			}
		}
	})
}
