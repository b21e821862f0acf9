package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

func init() { faces["reopen"] = reopenMain }

// reopenMain opens a descriptor that it was given again, through /proc, and
// prints what came of it: for reading, for writing.
func reopenMain(args []string) int {
	path := "/proc/self/fd/" + args[0]
	fmt.Println(errnoName(open(path, unix.O_RDONLY|unix.O_NONBLOCK, false)), errnoName(open(path, unix.O_WRONLY|unix.O_NONBLOCK, false)))
	return 0
}

// TestStandardInputFile: a file that the command may only read, given as its
// standard input, cannot be opened again for writing.
func TestStandardInputFile(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		c := b.command(t, tr, workFlags(tr), testenv.Helper(t), "reopen", "0")
		in, err := os.Open(tr.Path("out/file.txt"))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		c.Stdin = in
		if res := c.Run(t); res.Stdout != "ok "+readOnly.errno(b.backend)+"\n" {
			t.Errorf("opening standard input again for reading and writing = %q (stderr %q), want ok and %s", res.Stdout, res.Stderr, readOnly.errno(b.backend))
		}
		c.Argv = []string{testenv.Helper(t), "reopen", "0"}
		if res := c.Run(t); res.Stdout != "ok ok\n" {
			t.Errorf("control: %+v, want both to succeed", res)
		}
	})
}

// TestStandardInputDirectory: a directory below a denied root, given as standard
// input, is no way in: the launcher refuses it, or it leads nowhere.
func TestStandardInputDirectory(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		asks := []string{testenv.Helper(t), "calls", "read", "/proc/self/fd/0/memory/x.md"}
		in, err := os.Open(tr.Path(bob))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		c := b.command(t, tr, crossFlags(tr), asks...)
		c.Stdin = in
		if res := c.Run(t); strings.Contains(res.Stdout, "ok") {
			t.Errorf("reading bob's memory through standard input = %+v", res)
		}
		c.Argv = asks
		if res := c.Run(t); res.Stdout != "ok\n" {
			t.Errorf("control: %+v, want it to succeed", res)
		}
	})
}
