package readonly

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/shell"
)

// absolute joins without cleaning: what a ".." means is up to the links before it.
func absolute(cwd, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return cwd + "/" + name
}

// within reports whether a path is in one of the roots both as it is written and
// with its links resolved.
func (r *run) within(full string, roots []string) bool {
	clean := path.Clean(full)
	holds := func(p string) func(string) bool {
		return func(root string) bool { return policy.Holds(root, p) }
	}
	if !slices.ContainsFunc(roots, holds(clean)) {
		return false
	}
	if r.Facts == nil {
		return false
	}
	real, err := r.Facts.Real(full)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(roots, func(root string) bool {
		if policy.Holds(root, real) {
			return true
		}
		realRoot, err := r.Facts.Real(root)
		return err == nil && policy.Holds(realRoot, real)
	})
}

// content notes a path whose contents are read, and returns why they may not be.
// A word before which nothing ends the options is an option if it begins with a
// dash.
func (r *run) content(word shell.Word, options bool) string {
	switch {
	case word.Stream:
		return ""
	case word.Glob:
		return r.globbed(word.Text, options, word.Resplit)
	case !word.Known:
		r.unknown = true
		return "the path " + word.Text + " is not known"
	case word.Text == "-" && options, word.Text == "/dev/null", word.Text == "/dev/stdin":
		return ""
	case r.lost && !strings.HasPrefix(word.Text, "/"):
		r.unknown = true
		return "the current directory is not known"
	}
	for _, cwd := range r.cwds {
		full := absolute(cwd, word.Text)
		if clean := path.Clean(full); !slices.Contains(r.reads, clean) {
			r.reads = append(r.reads, clean)
		}
	}
	for _, cwd := range r.cwds {
		full := absolute(cwd, word.Text)
		if !r.AnyRoot && !r.within(full, r.Roots) && (r.MayRead == nil || !r.MayRead(full)) {
			return "it reads " + word.Text + ", which is outside the roots"
		}
	}
	return ""
}

// globbed looks at a pattern, and at what it matches now.
func (r *run) globbed(pattern string, options, resplit bool) string {
	if r.lost {
		return "the current directory is not known"
	}
	again := false
	for _, cwd := range r.cwds { // what it would read, whatever the answer
		if names, err := r.matches(cwd, pattern); err == nil {
			r.reads = append(r.reads, names...)
			again = again || slices.ContainsFunc(names, func(name string) bool { return strings.ContainsAny(path.Base(name), " \t\n*?[\\") })
		}
	}
	if again && resplit {
		return "a name that the pattern " + pattern + " matches becomes several words, for want of quotes"
	}
	if options && r.dashed(pattern) {
		return "the pattern " + pattern + " may match a name that is an option"
	}
	for _, part := range strings.Split(pattern, "/") {
		if part == ".." || strings.HasPrefix(part, ".") && strings.ContainsAny(part, `*?[\`) {
			return "the pattern " + pattern + " may match .."
		}
	}
	for _, cwd := range r.cwds {
		fixed := pattern[:strings.IndexAny(pattern+"*", "*?[")]
		dir, _ := path.Split(absolute(cwd, fixed))
		r.reads = append(r.reads, path.Clean(dir))
		if r.AnyRoot {
			continue
		}
		if strings.Contains(dir, `\`) || !r.within(dir, r.Roots) {
			return "the pattern " + pattern + " is outside the roots"
		}
		names, err := r.matches(cwd, pattern)
		if err != nil {
			return "what the pattern " + pattern + " matches is not known"
		}
		for _, name := range names {
			if !r.within(name, r.Roots) {
				return "the pattern " + pattern + " matches " + name + ", which leads outside the roots"
			}
		}
	}
	return ""
}

// dashed reports whether a pattern may match a name that a program takes for more
// than a name: an option, a command of less, a file of words.
func (r *run) dashed(pattern string) bool {
	return r.lost || slices.ContainsFunc(r.cwds, func(cwd string) bool {
		names, err := r.matches(cwd, pattern)
		return err != nil || slices.ContainsFunc(names, func(name string) bool {
			name = strings.TrimLeft(strings.TrimPrefix(name, cwd), "/")
			return name == "" || strings.IndexByte("-+@", name[0]) >= 0
		})
	})
}

// matches are the names that a pattern matches now.
func (r *run) matches(cwd, pattern string) ([]string, error) {
	if r.Facts == nil {
		return nil, fs.ErrInvalid
	}
	return r.Facts.Glob(In(cwd, pattern))
}

// In is a pattern, widened, in a directory whose own name is no pattern.
func In(cwd, pattern string) string {
	return absolute(strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(cwd), widened(pattern))
}

// widened is a pattern that matches all that the shell's does, whatever its locale:
// of ranges, classes and negations, and of how many bytes are a character, only the
// shell knows. In what it stands for, a name beside them may be among the matches.
func widened(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		for at := 0; at < len(part); at++ {
			switch part[at] {
			case '\\':
				at++
			case '?':
				part = part[:at] + "*" + part[at+1:]
			case '[':
				end := strings.IndexByte(part[at:], ']')
				if end > 1 && strings.Trim(part[at+1:at+end], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._") == "" {
					at += end
					continue
				}
				part = part[:at] + "*"
			}
		}
		parts[i] = part
	}
	return strings.Join(parts, "/")
}

// cd judges cd and follows it.
func cd(r *run, c shell.Command, args []shell.Word) string {
	if len(args) > 0 && args[0].Known && args[0].Text == "--" {
		args = args[1:]
	}
	to := shell.Word{Text: r.Home, Known: r.Home != ""}
	if len(args) > 0 {
		to = args[0]
	}
	if len(args) > 1 || !to.Known || strings.HasPrefix(to.Text, "-") {
		return "where cd goes is not known"
	}
	if c.Repeats {
		return "cd in a loop"
	}
	if to.Text == "" {
		return ""
	}
	for _, cwd := range slices.Clone(r.cwds) {
		full := absolute(cwd, to.Text)
		if r.lost {
			return "the current directory is not known"
		}
		if !r.AnyRoot && !r.within(full, r.Roots) {
			return "cd leads outside the roots"
		}
		next := []string{path.Clean(full)}
		if r.Facts != nil {
			if real, err := r.Facts.Real(full); err == nil {
				next = append(next, real)
			}
		}
		for _, dir := range next {
			if !slices.Contains(r.cwds, dir) {
				r.cwds = append(r.cwds, dir)
			}
		}
	}
	if len(r.cwds) > 64 {
		return "cd leads to too many places"
	}
	return ""
}
