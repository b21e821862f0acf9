package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
	"github.com/letta-confine/letta-confine/landlock"
)

// denial is why the kernel says no. How it says so is the backend's dialect.
type denial int

const (
	allowed       denial = iota
	hidden               // something below a denied directory
	hiddenName           // whether something exists below a denied directory (gap: names)
	hiddenLink           // linking to something below a denied directory
	hiddenConn           // a socket below a denied directory (gap: unix-sockets)
	sealed               // a change directly in a denied directory
	unlisted             // the list of a denied directory that has a carve-out
	maskedFile           // the content of a denied file, fifo, socket or device
	maskedConn           // connecting to a denied socket (gap: unix-sockets)
	readOnly             // content or entries that must not be written
	metadata             // mode, owner and times of what must not be written (gap: metadata)
	moveOut              // renaming from a read-only place to a writable one
	linkOut              // linking a read-only file into a writable place
	pinned               // renaming a directory above a root
	pinnedRoot           // removing, renaming or replacing a root itself
	pinnedRootOut        // moving a root to where another mount begins
	fifoWrite            // writing to a fifo that must not be written (gap: fifo)
	readDevice           // reading a read-only device (over-denial: devices)
	noCap                // a call for which the capability is gone
	deviceNode           // making a device node in a writable place
	noPtrace             // reaching through another process
	taken                // making what a backend has put a directory in the place of
)

// dialect is DESIGN's table of denials: the errno of each backend. "ok" is a gap
// that the backend reports for the policies that it concerns.
var dialect = map[denial]map[string]string{
	allowed:       {"bwrap": "ok", "landlock": "ok"},
	hidden:        {"bwrap": "ENOENT", "landlock": "EACCES"},
	hiddenName:    {"bwrap": "ENOENT", "landlock": "ok"},
	hiddenLink:    {"bwrap": "ENOENT", "landlock": "EXDEV"},
	hiddenConn:    {"bwrap": "ENOENT", "landlock": "ok"},
	sealed:        {"bwrap": "EROFS", "landlock": "EACCES"},
	unlisted:      {"bwrap": "ok", "landlock": "EACCES"},
	maskedFile:    {"bwrap": "EACCES", "landlock": "EACCES"},
	maskedConn:    {"bwrap": "ECONNREFUSED", "landlock": "ok"},
	readOnly:      {"bwrap": "EROFS", "landlock": "EACCES"},
	metadata:      {"bwrap": "EROFS", "landlock": "ok"},
	moveOut:       {"bwrap": "EXDEV", "landlock": "EACCES"},
	linkOut:       {"bwrap": "EXDEV", "landlock": "EXDEV"},
	pinned:        {"bwrap": "EBUSY", "landlock": "EACCES"},
	pinnedRoot:    {"bwrap": "EBUSY", "landlock": "EACCES"},
	pinnedRootOut: {"bwrap": "EXDEV", "landlock": "EACCES"},
	fifoWrite:     {"bwrap": "ok", "landlock": "EACCES"},
	readDevice:    {"bwrap": "EACCES", "landlock": "ok"},
	noCap:         {"bwrap": "EPERM", "landlock": "EPERM"},
	deviceNode:    {"bwrap": "EPERM", "landlock": "EPERM"},
	noPtrace:      {"bwrap": "EACCES", "landlock": "EACCES"},
	taken:         {"bwrap": "EEXIST", "landlock": "EACCES"},
}

// errno returns the answer of a backend on this host.
func (d denial) errno(backend string) string {
	if backend == "landlock" && (d == hiddenConn || d == maskedConn) && landlockABI >= 9 {
		return "EACCES" // the kernel knows LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	return dialect[d][backend]
}

// landlockABI is the kernel's, or 0.
var landlockABI, _ = landlock.ABI()

// row is one system call on paths of the tree, and what becomes of it.
type row struct {
	call  string
	paths string // separated by a space; relative to the tree
	want  denial
	why   string // where the call alone does not say it
}

func (r row) args(tr *testenv.Tree) []string {
	args := []string{r.call}
	for _, p := range strings.Fields(r.paths) {
		args = append(args, tr.Path(p))
	}
	return args
}

func (r row) String() string {
	if r.why == "" {
		return r.call + " " + r.paths
	}
	return fmt.Sprintf("%s %s (%s)", r.call, r.paths, r.why)
}

// tableTest is a policy and what it means for a list of calls. The calls are
// made in one sandbox, in order.
type tableTest struct {
	prepare func(tr *testenv.Tree) // may be nil
	flags   func(tr *testenv.Tree) flags
	rows    []row

	// after looks at the tree once the command has ended; may be nil.
	after func(t *testing.T, tr *testenv.Tree)
}

// run makes the calls confined, and then, for each that was denied, makes the
// same call unconfined in a fresh tree, where it must succeed.
func (tt tableTest) run(t *testing.T, b box) {
	t.Helper()
	tr := tt.tree(t, b)
	argv := []string{testenv.Helper(t), "calls"}
	for _, r := range tt.rows {
		argv = append(argv, r.args(tr)...)
	}
	res := b.run(t, tr, tt.flags(tr), argv...)
	got := strings.Split(strings.TrimSpace(res.Stdout), "\n")
	if res.Status != 0 || res.Stderr != "" || len(got) != len(tt.rows) {
		t.Fatalf("%d calls gave status %d, %d answers, and said:\n%s", len(tt.rows), res.Status, len(got), res.Stderr)
	}
	for i, r := range tt.rows {
		if want := r.want.errno(b.backend); got[i] != want {
			t.Errorf("%v = %s, want %s", r, got[i], want)
		}
		if r.want != allowed {
			tt.control(t, b, r)
		}
	}
	if tt.after != nil {
		tt.after(t, tr)
	}
}

func (tt tableTest) control(t *testing.T, b box, r row) {
	t.Helper()
	tr := tt.tree(t, b)
	argv := append([]string{testenv.Helper(t), "calls"}, r.args(tr)...)
	if res := b.free(t, tr, argv...); strings.TrimSpace(res.Stdout) != "ok" {
		t.Errorf("control: %v unconfined = %s%s, want ok", r, res.Stdout, res.Stderr)
	}
}

func (tt tableTest) tree(t *testing.T, b box) *testenv.Tree {
	t.Helper()
	tr := testenv.NewTree(t, b.user)
	if tt.prepare != nil {
		tt.prepare(tr)
	}
	return tr
}
