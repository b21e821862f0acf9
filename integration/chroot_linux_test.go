package integration

import (
	"strconv"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestChrootBelowWhatIsGranted: Landlock's rules reach through the root of a
// chroot from the directories that hold it, once these are mounted inside as well.
// Where the policy denies anything, nothing runs; what restricted writes lose
// there is a limit.
func TestChrootBelowWhatIsGranted(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		testenv.Need(t, testenv.FacilityRoot, testenv.HasRoot())
		tr := testenv.NewTree(t, b.user)
		tr.Mkdir("out/root")
		inside := steps{{"rbind", "/", "out/root", ""}, {"chroot", "", "out/root", ""}}
		in := []string{
			testenv.Helper(t), "mounted", strconv.Itoa(b.user.UID), strconv.Itoa(b.user.GID),
			"rbind", "/", tr.Path("out/root"), "", "chroot", "", tr.Path("out/root"), "", "--",
		}
		run := func(argv []string) testenv.Result {
			return testenv.Command{User: testenv.Root, Dir: tr.Path("work"), Home: tr.Home(), Argv: append(in, argv...)}.Run(t)
		}
		read := []string{"cat", tr.Path(bob + "/memory/x.md")}
		if res := run(append([]string{"/usr/bin/env"}, read...)); res.Stdout != testenv.BobText {
			t.Fatalf("control: %+v", res)
		}
		const want = `letta-confine: error: landlock: the root directory lies below a directory that the policy allows
letta-confine: hint: start outside this chroot, or unmount there what holds the chroot itself
`
		if res := run(b.command(t, tr, crossFlags(tr), read...).Argv); res.Status != 125 || res.Stdout != "" || res.Stderr != want {
			t.Errorf("a denied root above which a rule stands: %+v", res)
		}
		face := []string{testenv.Launcher(t), "landlock-run", "--ro", "/usr", "--ro", "/bin", "--ro", "/lib", "--ro", "/lib64", "--ro", tr.Path("out"), "--"}
		const above = "landlock-run: landlock ruleset error: the root directory lies below a directory that the policy allows\n"
		if res := run(append(face, read...)); res.Status != 125 || res.Stdout != "" || res.Stderr != above {
			t.Errorf("a grant above the root: %+v", res)
		}
		b.mounted(t, tr, inside, flags{"--restrict-writes", "--writable", tr.Path("work")},
			row{"append", "work/file.txt", allowed, ""}, row{"append", "out/file.txt", readOnly, ""})
		b.mounted(t, tr, inside, flags{"--restrict-writes", "--writable", tr.Path("out")},
			row{"append", "work/file.txt", allowed, ""}) // the limit: "out" holds the root
	})
}
