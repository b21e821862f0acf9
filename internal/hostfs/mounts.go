package hostfs

import (
	"errors"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
)

// Mount is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type Mount struct {
	Dev   string // "major:minor" of the file system
	Root  string // which of its directories is shown
	Point string // where
}

// errMountinfo says that a line of mountinfo has not the documented form.
var errMountinfo = errors.New("mountinfo cannot be read")

// ParseMounts reads the text of /proc/self/mountinfo.
func ParseMounts(text string) ([]Mount, error) {
	var mounts []Mount
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 {
			return nil, errMountinfo
		}
		mounts = append(mounts, Mount{Dev: fields[2], Root: unescape(fields[3]), Point: unescape(fields[4])})
	}
	return mounts, nil
}

// unescape undoes the kernel's octal escapes of space, tab, newline, hash and
// backslash (fs/seq_file.c, mangle_path).
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && octal(s[i+1]) && octal(s[i+2]) && octal(s[i+3]) {
			out.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

func octal(c byte) bool { return '0' <= c && c <= '7' }

// Aliases returns the other places at which the mounts show root, a directory
// above it or something below it: a second mount of the same file system, or a
// bind of a part of it. Places below root itself are not listed, and what is
// mounted below root is looked for elsewhere too. A place can be covered by
// another mount; whether root is really to be seen there is for the caller to
// find out.
func Aliases(root string, mounts []Mount) []string {
	var found []string
	add := func(path string) {
		if !policy.Holds(root, path) {
			found = append(found, path)
		}
	}
	for _, m := range shown(root, mounts) {
		for _, other := range mounts {
			if other.Dev != m.Dev {
				continue
			}
			switch {
			case policy.Holds(other.Root, m.Root):
				add(rebase(m.Root, other.Root, other.Point))
			case policy.Holds(m.Root, other.Root):
				add(other.Point)
			}
		}
	}
	return found
}

// AddAliases adds to p, for each denied or readonly root of r, which is p resolved,
// the other places at which it can be seen, to the same list. It returns the root
// that each added one shows. Where there are any, p is to be resolved again. The
// mounts are those of now; what is mounted later is another matter.
func AddAliases(p *policy.Policy, r policy.Resolved, mounts []Mount) (rootOf map[string]string, err error) {
	rootOf = make(map[string]string)
	for _, l := range r.Layers() {
		if l.Access == policy.ReadWrite || l.Root.Kind == policy.Missing {
			continue
		}
		for _, path := range Aliases(l.Root.Path, mounts) {
			if r.Decide(path).Access <= l.Access || !Visible(path) {
				continue
			}
			if err := p.Add(l.Root.List, path); err != nil {
				return nil, err
			}
			rootOf[path] = l.Root.Path
		}
	}
	return rootOf, nil
}

// Visible reports whether anything is at path, so that there is something to
// hide: a place that another mount covers has no such name.
func Visible(path string) bool {
	info, err := FS{}.Lstat(path)
	return err == nil && info.Kind != policy.Missing
}

// shown returns which parts of which file systems are to be seen at root and
// below: the one that root lies on, from root downwards, and those mounted below.
func shown(root string, mounts []Mount) []Mount {
	var parts []Mount
	var on *Mount
	for i, m := range mounts {
		if policy.Holds(m.Point, root) && (on == nil || len(m.Point) >= len(on.Point)) {
			on = &mounts[i]
		}
		if policy.Holds(root, m.Point) && m.Point != root {
			parts = append(parts, m)
		}
	}
	if on != nil {
		parts = append(parts, Mount{Dev: on.Dev, Root: rebase(root, on.Point, on.Root), Point: root})
	}
	return parts
}

// rebase returns the path that lies beneath to as path lies beneath from.
func rebase(path, from, to string) string {
	tail := strings.TrimPrefix(path[len(strings.TrimSuffix(from, "/")):], "/")
	switch {
	case tail == "":
		return to
	case to == "/":
		return "/" + tail
	}
	return to + "/" + tail
}
