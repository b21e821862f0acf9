package learn

import (
	"strings"

	"github.com/letta-confine/letta-confine/denial"
)

// effect is what a call does with its paths: an operation on each, which are in the
// argument after the descriptor that they are taken from, or in one without.
type effect struct {
	op    denial.Op
	paths [][2]int // the descriptor's argument, or -1, and the path's
}

// look is an operation that a policy does not know: to ask about a name.
const look denial.Op = "look"

// effects are the calls that do one thing. (syscalls(2))
var effects = map[string]effect{
	"mkdir": {denial.Create, [][2]int{{-1, 0}}}, "mkdirat": {denial.Create, [][2]int{{0, 1}}},
	"mknod": {denial.Create, [][2]int{{-1, 0}}}, "mknodat": {denial.Create, [][2]int{{0, 1}}},
	"symlink": {denial.Create, [][2]int{{-1, 1}}}, "symlinkat": {denial.Create, [][2]int{{1, 2}}},
	"link": {denial.Create, [][2]int{{-1, 0}, {-1, 1}}}, "linkat": {denial.Create, [][2]int{{0, 1}, {2, 3}}},
	"rename": {denial.Rename, [][2]int{{-1, 0}, {-1, 1}}}, "renameat": {denial.Rename, [][2]int{{0, 1}, {2, 3}}},
	"renameat2": {denial.Rename, [][2]int{{0, 1}, {2, 3}}},
	"unlink":    {denial.Delete, [][2]int{{-1, 0}}}, "unlinkat": {denial.Delete, [][2]int{{0, 1}}}, "rmdir": {denial.Delete, [][2]int{{-1, 0}}},
	"truncate": {denial.Write, [][2]int{{-1, 0}}}, "truncate64": {denial.Write, [][2]int{{-1, 0}}},
	"chmod": {denial.Metadata, [][2]int{{-1, 0}}}, "fchmodat": {denial.Metadata, [][2]int{{0, 1}}}, "fchmodat2": {denial.Metadata, [][2]int{{0, 1}}},
	"chown": {denial.Metadata, [][2]int{{-1, 0}}}, "lchown": {denial.Metadata, [][2]int{{-1, 0}}}, "fchownat": {denial.Metadata, [][2]int{{0, 1}}},
	"utime": {denial.Metadata, [][2]int{{-1, 0}}}, "utimes": {denial.Metadata, [][2]int{{-1, 0}}}, "futimesat": {denial.Metadata, [][2]int{{0, 1}}},
	"utimensat": {denial.Metadata, [][2]int{{0, 1}}},
	"setxattr":  {denial.Metadata, [][2]int{{-1, 0}}}, "lsetxattr": {denial.Metadata, [][2]int{{-1, 0}}},
	"removexattr": {denial.Metadata, [][2]int{{-1, 0}}}, "lremovexattr": {denial.Metadata, [][2]int{{-1, 0}}},
	"execve": {denial.Execute, [][2]int{{-1, 0}}}, "execveat": {denial.Execute, [][2]int{{0, 1}}},
	"stat": {look, [][2]int{{-1, 0}}}, "lstat": {look, [][2]int{{-1, 0}}}, "newfstatat": {look, [][2]int{{0, 1}}},
	"statx": {look, [][2]int{{0, 1}}}, "access": {look, [][2]int{{-1, 0}}}, "faccessat": {look, [][2]int{{0, 1}}},
	"faccessat2": {look, [][2]int{{0, 1}}}, "readlink": {look, [][2]int{{-1, 0}}}, "readlinkat": {look, [][2]int{{0, 1}}},
	"statfs": {look, [][2]int{{-1, 0}}}, "getxattr": {look, [][2]int{{-1, 0}}}, "lgetxattr": {look, [][2]int{{-1, 0}}},
}

// note adds what a call did.
func (c traced) note() {
	switch c.name {
	case "open":
		c.open(c.path(-1, 0), c.arg(1))
	case "creat":
		c.open(c.path(-1, 0), "O_CREAT")
	case "openat", "openat2":
		c.open(c.path(0, 1), c.arg(2))
	case "chdir":
		*c.t.dir(c.pid) = c.path(-1, 0)
		c.add(look, c.path(-1, 0))
	case "fchdir":
		*c.t.dir(c.pid) = opened(c.arg(0))
	case "fchmod", "fchown", "fsetxattr", "fremovexattr":
		c.add(denial.Metadata, opened(c.arg(0)))
	case "ftruncate":
		c.add(denial.Write, opened(c.arg(0)))
	case "fork", "vfork", "clone", "clone3":
		child, _, _ := strings.Cut(c.result, " ")
		if strings.Contains(strings.Join(c.args, "|"), "CLONE_FS") {
			c.t.dirs[child] = c.t.dir(c.pid)
		} else if dir := *c.t.dir(c.pid); c.t.dirs[child] == nil {
			c.t.dirs[child] = &dir
		}
	default:
		e := effects[c.name]
		for _, at := range e.paths {
			if at[0] >= 0 && c.arg(at[1]) == "NULL" { // of the descriptor itself
				c.add(e.op, opened(c.arg(at[0])))
				continue
			}
			c.add(e.op, c.path(at[0], at[1]))
		}
	}
}
