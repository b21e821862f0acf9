package integration

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// calls runs the helper confined and returns its answers.
func (b box) calls(t *testing.T, tr *testenv.Tree, f flags, rows ...row) []string {
	t.Helper()
	argv := []string{testenv.Helper(t), "calls"}
	for _, r := range rows {
		argv = append(argv, r.args(tr)...)
	}
	res := b.run(t, tr, f, argv...)
	if res.Status != 0 {
		t.Fatalf("the calls gave %+v", res)
	}
	return strings.Fields(res.Stdout)
}

func TestMissingWritableRoot(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		missing := tr.Path("out/later/deep")
		f := append(workFlags(tr), "--writable", missing)
		res, list := b.reported(t, tr, f, "true")
		if res.Status != 0 || res.Stderr != "" {
			t.Fatalf("a missing writable root gave %+v, want success", res)
		}
		if !list[0].skips(missing, "missing") {
			t.Errorf("skipped roots are %+v, want %q among them", list[0].Skipped, missing)
		}
		if tr.Exists("out/later") {
			t.Error("the missing writable root was made without --create-writable")
		}
		got := b.calls(t, tr, append(f, "--create-writable"), row{call: "create", paths: "out/later/deep/new"}, row{call: "create", paths: "out/later/new"})
		if got[0] != "ok" || got[1] != readOnly.errno(b.backend) {
			t.Errorf("creating in the root that --create-writable made, and above it = %q", got)
		}
		if !tr.Exists("out/later/deep/new") {
			t.Error("the host lacks what was written to the root that --create-writable made")
		}
	})
}

// TestMissingDeniedRootThatTheCommandCouldMake: it is masked before the command
// can make it, and nothing is there afterwards but at most an empty directory.
func TestMissingDeniedRootThatTheCommandCouldMake(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		missing := tr.Path("work/later/deep")
		f := flags{"--deny", missing}
		res, list := b.reported(t, tr, f, testenv.Helper(t), "calls", "mkdir", missing, "create", missing+"/new", "mkdir", tr.Path("work/later"))
		if res.Status != 0 || res.Stderr != "" {
			t.Fatalf("a missing denied root gave %+v, want success", res)
		}
		want := map[string]string{"bwrap": "EEXIST EROFS EEXIST", "landlock": "ENOENT ENOENT EACCES"}[b.backend]
		if got := strings.Join(strings.Fields(res.Stdout), " "); got != want {
			t.Errorf("making the denied root, a file in it and its parent = %s, want %s", got, want)
		}
		if tr.Exists("work/later/deep/new") {
			t.Error("the command wrote below a denied root")
		}
		if b.backend == "bwrap" {
			if got := strings.Join(list[0].Created, " "); got != tr.Path("work/later")+" "+missing {
				t.Errorf("created = %q, want the root and what lies above it", got)
			}
			return
		}
		if !list[0].skips(missing, "missing") || tr.Exists("work/later") {
			t.Errorf("skipped roots are %+v, want %q among them and nothing made", list[0].Skipped, missing)
		}
	})
}

func TestMissingDeniedRootThatTheCommandCannotMake(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		before := tr.Snapshot()
		missing := tr.Path("out/later")
		res, list := b.reported(t, tr, append(workFlags(tr), "--deny", missing), testenv.Helper(t), "calls", "mkdir", missing)
		if got := strings.TrimSpace(res.Stdout); got != readOnly.errno(b.backend) {
			t.Errorf("making the denied root = %s (%+v), want %s", got, res, readOnly.errno(b.backend))
		}
		if !list[0].skips(missing, "missing") || len(list[0].Created) > 0 {
			t.Errorf("the plan says skipped %+v and created %q, want %q skipped", list[0].Skipped, list[0].Created, missing)
		}
		tr.Changed(before)
	})
}

func TestMissingDeniedRefused(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		before := tr.Snapshot()
		refused(t, b.run(t, tr, flags{"--missing-denied", "refuse", "--deny", tr.Path("work/later")}, "touch", "ran"), "is not there", "create it first")
		tr.Changed(before)
	})
}

func TestMissingReadOnlyRoot(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		missing := tr.Path("work/later")
		got := b.calls(t, tr, append(workFlags(tr), "--read-only", missing), row{call: "create", paths: "work/later/new"}, row{call: "rmdir", paths: "work/later"})
		want := map[string]string{"bwrap": "EROFS EBUSY", "landlock": "EACCES EACCES"}[b.backend]
		if got := strings.Join(got, " "); got != want && !(b.backend == "landlock" && got == "ENOENT ENOENT") {
			t.Errorf("writing to a missing readonly root, and removing it = %s, want %s", got, want)
		}
		if tr.Exists("work/later/new") {
			t.Error("the command wrote below a readonly root")
		}
	})
}
