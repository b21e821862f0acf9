package integration

import (
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestWorkspace: everything is read, one directory is written.
func TestWorkspace(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: func(tr *testenv.Tree) { tr.Socket("out/sock") },
			flags:   workFlags,
			rows: []row{
				{"read", "out/file.txt", allowed, ""},
				{"list", "out", allowed, ""},
				{"connect", "out/sock", allowed, "sockets are not writes"},
				{"append", "out/file.txt", readOnly, ""},
				{"open-both", "out/file.txt", readOnly, ""},
				{"create", "out/new", readOnly, ""},
				{"mkdir", "out/new", readOnly, ""},
				{"mkfifo", "out/new", readOnly, ""},
				{"symlink", "file.txt out/new", readOnly, ""},
				{"unlink", "out/file.txt", readOnly, ""},
				{"unlink", "out/sub/deep.txt", readOnly, ""},
				{"truncate", "out/file.txt", readOnly, ""},
				{"chmod", "out/file.txt", metadata, ""},
				{"chown", "out/file.txt", metadata, ""},
				{"utimes", "out/file.txt", metadata, ""},
				{"rename", "out/file.txt out/sub/file.txt", readOnly, ""},
				{"rename", "out/file.txt work/stolen.txt", moveOut, ""},
				{"rename", "work/file.txt out/planted.txt", moveOut, ""},
				{"link", "out/file.txt work/stolen.txt", linkOut, ""},
				{"link", "work/file.txt out/planted.txt", readOnly, ""},
				{"rename", "work elsewhere", readOnly, ""},

				{"append", "work/file.txt", allowed, ""},
				{"create", "work/new", allowed, ""},
				{"chmod", "work/new", allowed, ""},
				{"utimes", "work/new", allowed, ""},
				{"truncate", "work/new", allowed, ""},
				{"rename", "work/new work/sub/new", allowed, ""},
				{"link", "work/sub/new work/linked", allowed, ""},
				{"symlink", "sub work/way", allowed, ""},
				{"mkfifo", "work/fifo", allowed, ""},
				{"mkdir", "work/dir", allowed, ""},
				{"rmdir", "work/dir", allowed, ""},
				{"unlink", "work/sub/new", allowed, ""},
			},
			after: func(t *testing.T, tr *testenv.Tree) {
				if got := tr.Read("out/file.txt"); got != "outside\n" {
					t.Errorf("the host has %q outside, want it unchanged", got)
				}
				if got := tr.Read("work/file.txt"); got != "work\nx" {
					t.Errorf("the host has %q in the workspace, want the write to have arrived", got)
				}
			},
		}.run(t, b)
	})
}

// TestRelativeWaysOut: a path is what it leads to, not how it is spelled.
func TestRelativeWaysOut(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: func(tr *testenv.Tree) {
				tr.Link("../out", "work/way")
				tr.Link("../out/file.txt", "work/file-way")
			},
			flags: workFlags,
			rows: []row{
				{"append", "work/../out/file.txt", readOnly, ""},
				{"append", "work/way/file.txt", readOnly, ""},
				{"append", "work/file-way", readOnly, ""},
				{"create", "work/way/new", readOnly, ""},
				{"truncate", "work/file-way", readOnly, ""},
				{"read", "work/file-way", allowed, ""},
			},
		}.run(t, b)
	})
}
