package integration

import (
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// nest makes a file in each directory named.
func nest(dirs ...string) func(tr *testenv.Tree) {
	return func(tr *testenv.Tree) {
		for _, dir := range dirs {
			tr.Write(dir+"/f", dir)
		}
	}
}

func TestDeniedInsideCarveOutInsideDenied(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: nest(alice+"/secret", alice+"/secret/own", alice+"/secret/own/deep"),
			flags: func(tr *testenv.Tree) flags {
				return append(crossFlags(tr), "--deny", tr.Path(alice+"/secret"), "--writable", tr.Path(alice+"/secret/own"))
			},
			rows: []row{
				{"read", bob + "/memory/x.md", hidden, ""},
				{"append", alice + "/memory/x.md", allowed, ""},
				{"read", alice + "/secret/f", hidden, ""},
				{"append", alice + "/secret/f", hidden, ""},
				{"create", alice + "/secret/new", sealed, ""},
				{"append", alice + "/secret/own/f", allowed, ""},
				{"create", alice + "/secret/own/deep/new", allowed, ""},
				{"rename", alice + "/secret " + alice + "/elsewhere", pinnedRoot, ""},
				{"rename", alice + "/secret out/elsewhere", pinnedRootOut, ""},
			},
		}.run(t, b)
	})
}

func TestReadOnlyInsideWritable(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: nest("work/fixed", "work/fixed/deep", "work/fixed/open", "work/fixed/open/fixed"),
			flags: func(tr *testenv.Tree) flags {
				return append(workFlags(tr), "--read-only", tr.Path("work/fixed"),
					"--writable", tr.Path("work/fixed/open"), "--read-only", tr.Path("work/fixed/open/fixed"))
			},
			rows: []row{
				{"append", "work/sub/deep.txt", allowed, ""},
				{"read", "work/fixed/f", allowed, ""},
				{"append", "work/fixed/f", readOnly, ""},
				{"create", "work/fixed/deep/new", readOnly, ""},
				{"append", "work/fixed/open/f", allowed, ""},
				{"append", "work/fixed/open/fixed/f", readOnly, ""},
				{"read", "work/fixed/open/fixed/f", allowed, ""},
				{"rename", "work/fixed work/elsewhere", pinnedRoot, ""},
				{"rename", "work/fixed/open work/fixed/elsewhere", readOnly, ""},
				{"rename", "work/fixed/open/fixed work/fixed/open/elsewhere", pinnedRoot, ""},
			},
		}.run(t, b)
	})
}

// TestReadOnlyWithoutRestriction: a readonly root outside every denied root is
// read-only on every backend.
func TestReadOnlyWithoutRestriction(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			flags: func(tr *testenv.Tree) flags { return flags{"--read-only", tr.Path("out")} },
			rows: []row{
				{"read", "out/file.txt", allowed, ""},
				{"list", "out", allowed, ""},
				{"append", "out/file.txt", readOnly, ""},
				{"create", "out/new", readOnly, ""},
				{"rename", "out elsewhere", pinnedRoot, ""},
				{"append", "work/file.txt", allowed, ""},
				{"create", "work/new", allowed, ""},
			},
		}.run(t, b)
	})
}

// TestBaseRootStopsAtListedRoots: a base root never reaches into a denied, a
// readonly or a writable root, from above or from inside.
func TestBaseRootStopsAtListedRoots(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: nest("out/fixed", "out/fixed/base", "out/secret", "out/secret/base"),
			flags: func(tr *testenv.Tree) flags {
				return flags{
					"--restrict-writes", "--base-writable", tr.Path("out"),
					"--read-only", tr.Path("out/fixed"), "--base-writable", tr.Path("out/fixed/base"),
					"--deny", tr.Path("out/secret"), "--base-writable", tr.Path("out/secret/base"),
				}
			},
			rows: []row{
				{"append", "out/file.txt", allowed, ""},
				{"read", "out/fixed/base/f", allowed, ""},
				{"append", "out/fixed/f", readOnly, ""},
				{"append", "out/fixed/base/f", readOnly, ""},
				{"read", "out/secret/f", hidden, ""},
				{"read", "out/secret/base/f", hidden, ""},
				{"append", "out/secret/base/f", hidden, ""},
				{"append", "work/file.txt", readOnly, ""},
			},
		}.run(t, b)
	})
}

// TestNamePrefix: a root does not hold a sibling whose name begins like its own.
func TestNamePrefix(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: nest("out/a", "out/ab"),
			flags:   func(tr *testenv.Tree) flags { return flags{"--deny", tr.Path("out/a")} },
			rows: []row{
				{"read", "out/a/f", hidden, ""},
				{"read", "out/ab/f", allowed, ""},
				{"append", "out/ab/f", allowed, ""},
			},
		}.run(t, b)
	})
}
