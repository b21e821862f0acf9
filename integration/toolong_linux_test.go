package integration

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestPathThatIsTooLong: a root whose path the kernel would not take is refused
// before anything is made for it.
func TestPathThatIsTooLong(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for _, flag := range []string{"--deny", "--read-only", "--writable", "--base-writable"} {
			res := b.run(t, tr, flags{flag, tr.Path("work/" + strings.Repeat("d/", 2100) + "end")}, "touch", "ran")
			if res.Status != 125 || tr.Exists("work/d") || tr.Exists("work/ran") {
				t.Errorf("%s with a path of 4,200 bytes gave status %d; made on the way to it: %v; the command ran: %v",
					flag, res.Status, tr.Exists("work/d"), tr.Exists("work/ran"))
			}
		}
	})
}
