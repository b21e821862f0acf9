package learn

import (
	"bufio"
	"encoding/hex"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/policy"
)

// Flags are strace's: every process, with the paths of descriptors, and every string
// in hexadecimal, so that nothing in a name can be taken for the trace's own.
var Flags = []string{
	"-f", "-qqq", "-y", "-xx", "-s", "8192",
	"-e", "trace=%file,fork,vfork,clone,clone3,fchdir,fchmod,fchown,ftruncate,fsetxattr,fremovexattr",
}

// End is a line that ends a trace, for a reader that never sees its end.
const End = "end\n"

// Read returns what the trace of a command that started in cwd says it did, each once.
// Paths are absolute, and as the command wrote them; Canonical is for them.
func Read(trace io.Reader, cwd string) ([]denial.Wish, error) {
	t := tracer{first: cwd, dirs: map[string]*string{}, begun: map[string]string{}, seen: map[denial.Wish]bool{}}
	lines := bufio.NewReaderSize(trace, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if line == End {
			return t.wishes, nil
		}
		if line != "" {
			t.line(strings.TrimRight(line, "\n"))
		}
		if err == io.EOF {
			return t.wishes, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Canonical returns the wishes with paths as policies have them. Of a name that is made,
// removed or moved only the directory is followed: it may be a symlink itself.
func Canonical(wishes []denial.Wish, fsys policy.FS) (list []denial.Wish) {
	for _, w := range wishes {
		p, err := policy.Canonical(w.Path, fsys)
		if entry(w.Op) {
			var dir string
			if dir, err = policy.Canonical(path.Dir(w.Path), fsys); err == nil {
				p = path.Join(dir, path.Base(w.Path))
			}
		}
		if err == nil { // else it led through something that is gone, or a loop
			list = append(list, denial.Wish{Path: p, Op: w.Op})
		}
	}
	return list
}

type tracer struct {
	first  string
	dirs   map[string]*string // working directories by process; threads share one
	begun  map[string]string  // the first part of a call that another came between
	seen   map[denial.Wish]bool
	wishes []denial.Wish
}

// dir is the working directory of a process. One that is not known yet was begun by
// whoever is still in the middle of a fork.
func (t *tracer) dir(pid string) *string {
	if t.dirs[pid] == nil {
		from := t.first
		for parent, call := range t.begun {
			if parent != pid && forks(call) {
				from = *t.dir(parent)
			}
		}
		t.dirs[pid] = &from
	}
	return t.dirs[pid]
}

func forks(call string) bool {
	return strings.HasPrefix(call, "clone") || strings.HasPrefix(call, "fork") || strings.HasPrefix(call, "vfork")
}

func (t *tracer) line(line string) {
	pid, call, ok := strings.Cut(line, " ")
	if _, err := strconv.Atoi(pid); !ok || err != nil {
		return
	}
	call = strings.TrimLeft(call, " ")
	t.dir(pid)
	if start, cut := strings.CutSuffix(call, " <unfinished ...>"); cut {
		t.begun[pid] = start
		return
	}
	if strings.HasPrefix(call, "<... ") {
		_, rest, ok := strings.Cut(call, " resumed>")
		if !ok {
			return
		}
		call = t.begun[pid] + rest
		delete(t.begun, pid)
	}
	name, rest, ok := strings.Cut(call, "(")
	at := strings.LastIndex(rest, ") ")
	if !ok || at < 0 {
		return
	}
	result, ok := strings.CutPrefix(strings.TrimLeft(rest[at+1:], " "), "= ")
	if !ok || strings.HasPrefix(result, "-") || strings.HasPrefix(result, "?") {
		return
	}
	c := traced{t: t, pid: pid, name: name, args: strings.Split(rest[:at], ", "), result: result}
	c.note()
}

// traced is a call that succeeded.
type traced struct {
	t      *tracer
	pid    string
	name   string
	args   []string
	result string
}

func (c traced) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// text reads a string in hexadecimal.
func text(s string) string {
	bytes, err := hex.DecodeString(strings.ReplaceAll(s, `\x`, ""))
	if err != nil {
		return ""
	}
	return string(bytes)
}

// opened is the path of a descriptor: 3<path>.
func opened(arg string) string {
	_, rest, ok := strings.Cut(arg, "<")
	p, _, end := strings.Cut(rest, ">")
	if !ok || !end {
		return ""
	}
	p = strings.TrimSuffix(text(p), " (deleted)")
	if !path.IsAbs(p) {
		return "" // a pipe, a socket
	}
	return p
}

// path is the one in argument i, taken from the descriptor in argument at, or from
// the working directory where there is none (-1).
func (c traced) path(at, i int) string {
	p := ""
	if quoted := c.arg(i); strings.HasPrefix(quoted, `"`) {
		p = text(strings.TrimRight(strings.Trim(quoted, `".`), `"`))
	}
	if path.IsAbs(p) {
		return p
	}
	dir := ""
	if at >= 0 {
		dir = opened(c.arg(at))
	}
	if dir == "" && (at < 0 || strings.HasPrefix(c.arg(at), "AT_FDCWD")) {
		dir = *c.t.dir(c.pid)
	}
	if dir == "" {
		return ""
	}
	return dir + "/" + p
}

func (c traced) add(op denial.Op, p string) {
	if p == "" {
		return
	}
	// "..", which a link before it may lead elsewhere, is left to the host.
	w := denial.Wish{Path: strings.ReplaceAll(p, "/./", "/"), Op: op}
	if !c.t.seen[w] {
		c.t.seen[w] = true
		c.t.wishes = append(c.t.wishes, w)
	}
}

func (c traced) open(p, flags string) {
	if real := opened(c.result); real != "" {
		p = real
	}
	switch {
	case strings.Contains(flags, "O_PATH"):
		c.add(look, p)
	case strings.Contains(flags, "O_TMPFILE"):
		c.add(denial.Create, p+"/x")
	case strings.Contains(flags, "O_WRONLY"), strings.Contains(flags, "O_RDWR"), strings.Contains(flags, "O_TRUNC"), strings.Contains(flags, "O_CREAT"):
		op := denial.Write
		if strings.Contains(flags, "O_CREAT") {
			op = denial.Create // whether it was there, the trace does not say
		}
		c.add(op, p)
	case strings.Contains(flags, "O_DIRECTORY"):
		c.add(denial.List, p)
	default:
		c.add(denial.Read, p)
	}
}
