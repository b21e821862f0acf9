package hostfs

import (
	"errors"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
)

// Mount is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type Mount struct {
	Dev   string // "major:minor" of the file system
	Root  string // which of its directories is shown
	Point string // where

	Type               string // of the file system
	ReadOnly           bool   // this mount of it
	FileSystemReadOnly bool   // wherever it is mounted

	Layers []string // the directories that an overlay shows, as they were named when it was mounted
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
		m := Mount{Dev: fields[2], Root: unescape(fields[3]), Point: unescape(fields[4]), ReadOnly: strings.HasPrefix(fields[5], "ro")}
		if i := slices.Index(fields, "-"); i >= 0 && i+3 < len(fields) {
			m.Type, m.FileSystemReadOnly = fields[i+1], strings.HasPrefix(fields[i+3], "ro")
			if m.Type == "overlay" {
				m.Layers = layers(unescape(fields[i+3]))
			}
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// layers reads the options of an overlay, in which a backslash takes from a comma or
// colon its meaning (kernel: Documentation/filesystems/overlayfs.rst).
func layers(options string) (dirs []string) {
	cut := func(text string, at byte) (parts []string) {
		start := 0
		for i := 0; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case at:
				parts, start = append(parts, text[start:i]), i+1
			}
		}
		return append(parts, text[start:])
	}
	literal := strings.NewReplacer(`\\`, `\`, `\,`, `,`, `\:`, `:`)
	for _, option := range cut(options, ',') {
		name, value, _ := strings.Cut(option, "=")
		switch strings.TrimSuffix(name, "+") {
		case "lowerdir", "upperdir", "datadir":
			for _, dir := range cut(value, ':') {
				if dir = literal.Replace(dir); strings.HasPrefix(dir, "/") {
					dirs = append(dirs, dir)
				}
			}
		}
	}
	return dirs
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
// above it or something below it: a second mount of the same file system, a bind of a
// part of it, a layer of the overlay that it lies on, or the overlay in a layer of
// which it lies. Places below root itself are not listed, and what is mounted below
// root is looked for elsewhere too. A place can be covered by another mount; whether
// root is really to be seen there is for the caller to find out.
func Aliases(root string, mounts []Mount) []string {
	var found []string
	add := func(path string) {
		if !policy.Holds(root, path) && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	parts := shown(root, mounts)
	for _, m := range mounts {
		for _, layer := range m.Layers {
			switch {
			case policy.Holds(layer, root):
				parts = append(parts, Mount{Dev: m.Dev, Root: rebase(root, layer, "/")})
			case policy.Holds(root, layer) && !policy.Holds(m.Point, root): // else all would be one of its aliases
				parts = append(parts, Mount{Dev: m.Dev, Root: "/"})
			}
		}
	}
	for _, m := range parts {
		for _, other := range mounts {
			if other.Dev != m.Dev {
				continue
			}
			for _, layer := range other.Layers {
				add(rebase(m.Root, "/", layer))
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
