package integration

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// kinds puts one file of each kind into a directory of the tree. Devices need
// uid 0 to make, and a file system that honours them.
func kinds(tr *testenv.Tree, dir string) {
	tr.Write(dir+"/file", "content\n")
	tr.Node(dir+"/fifo", unix.S_IFIFO, 0)
	tr.Socket(dir + "/sock")
	if hasDevices(tr) {
		tr.Node(dir+"/zero", unix.S_IFCHR, unix.Mkdev(1, 5))
	}
}

func hasDevices(tr *testenv.Tree) bool {
	var fs unix.Statfs_t
	return testenv.HasRoot() == nil && unix.Statfs(tr.Dir, &fs) == nil && fs.Flags&unix.ST_NODEV == 0
}

// kindFlags lists the files of a directory under one flag.
func kindFlags(tr *testenv.Tree, flag, dir string) flags {
	f := flags{flag, tr.Path(dir + "/file"), flag, tr.Path(dir + "/fifo"), flag, tr.Path(dir + "/sock")}
	if hasDevices(tr) {
		f = append(f, flag, tr.Path(dir+"/zero"))
	}
	return f
}

// deviceRows are rows for hosts where tests can make a device.
func deviceRows(rows ...row) []row {
	if testenv.HasRoot() != nil {
		return nil
	}
	return rows
}

func TestDeniedFiles(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: func(tr *testenv.Tree) { kinds(tr, "out/secret") },
			flags:   func(tr *testenv.Tree) flags { return kindFlags(tr, "--deny", "out/secret") },
			rows: append([]row{
				{"read", "out/secret/file", maskedFile, ""},
				{"append", "out/secret/file", maskedFile, ""},
				{"open-both", "out/secret/file", maskedFile, ""},
				{"chmod", "out/secret/file", metadata, ""},
				{"unlink", "out/secret/file", pinnedRoot, ""},
				{"rename", "out/secret/file out/secret/taken", pinnedRoot, ""},
				{"rename", "out/secret/file out/taken", pinnedRootOut, ""},
				{"rename", "out/file.txt out/secret/file", pinnedRootOut, ""},
				{"link", "out/secret/file work/taken", linkOut, ""},
				{"open-read", "out/secret/fifo", maskedFile, ""},
				{"open-both", "out/secret/fifo", maskedFile, ""},
				{"connect", "out/secret/sock", maskedConn, ""},
				{"rename", "out/secret out/elsewhere", pinned, ""},
				{"rename", "out elsewhere", pinned, ""},
				{"append", "out/sub/deep.txt", allowed, "beside"},
			}, deviceRows(
				row{"read", "out/secret/zero", maskedFile, ""},
				row{"append", "out/secret/zero", maskedFile, ""},
			)...),
			after: func(t *testing.T, tr *testenv.Tree) {
				if got := tr.Read("out/secret/file"); got != "content\n" {
					t.Errorf("the host has %q for the masked file, want it unchanged", got)
				}
			},
		}.run(t, b)
	})
}

func TestReadOnlyFiles(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: func(tr *testenv.Tree) { kinds(tr, "work/fixed") },
			flags: func(tr *testenv.Tree) flags {
				return append(workFlags(tr), kindFlags(tr, "--read-only", "work/fixed")...)
			},
			rows: append([]row{
				{"read", "work/fixed/file", allowed, ""},
				{"append", "work/fixed/file", readOnly, ""},
				{"truncate", "work/fixed/file", readOnly, ""},
				{"chmod", "work/fixed/file", metadata, ""},
				{"unlink", "work/fixed/file", pinnedRoot, ""},
				{"rename", "work/file.txt work/fixed/file", pinnedRootOut, ""},
				{"rename", "work/fixed work/elsewhere", pinned, ""},
				{"open-read", "work/fixed/fifo", allowed, ""},
				{"open-both", "work/fixed/fifo", fifoWrite, ""},
				{"connect", "work/fixed/sock", allowed, "sockets are not writes"},
				{"append", "work/sub/deep.txt", allowed, "beside"},
			}, deviceRows(
				row{"read", "work/fixed/zero", readDevice, ""},
				row{"append", "work/fixed/zero", maskedFile, ""},
			)...),
		}.run(t, b)
	})
}

func TestWritableFiles(t *testing.T) {
	for _, flag := range []string{"--writable", "--base-writable"} {
		t.Run(flag[2:], func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				tableTest{
					prepare: func(tr *testenv.Tree) { kinds(tr, "out/open") },
					flags: func(tr *testenv.Tree) flags {
						return append(flags{"--restrict-writes"}, kindFlags(tr, flag, "out/open")...)
					},
					rows: append([]row{
						{"append", "out/open/file", allowed, ""},
						{"chmod", "out/open/file", allowed, ""},
						{"truncate", "out/open/file", allowed, ""},
						{"create", "out/open/new", readOnly, "beside"},
						{"unlink", "out/open/file", readOnly, "its directory is read-only"},
						{"append", "out/file.txt", readOnly, "beside"},
						{"open-both", "out/open/fifo", allowed, ""},
						{"connect", "out/open/sock", allowed, ""},
					}, deviceRows(
						row{"read", "out/open/zero", allowed, ""},
						row{"append", "out/open/zero", allowed, ""},
					)...),
					after: func(t *testing.T, tr *testenv.Tree) {
						if got := tr.Read("out/open/file"); got != "" {
							t.Errorf("the host has %q for the writable file, want it cut", got)
						}
					},
				}.run(t, b)
			})
		})
	}
}
