package policy

import "strings"

// Holds reports whether p is root or lies beneath it. Both are canonical. The
// comparison is by component: "/ab" does not lie beneath "/a".
func Holds(root, p string) bool {
	if root == "/" {
		return strings.HasPrefix(p, "/")
	}
	return strings.HasPrefix(p, root) && (len(p) == len(root) || p[len(root)] == '/')
}

// holdsStrictly is Holds without the root itself.
func holdsStrictly(root, p string) bool { return root != p && Holds(root, p) }

// parent returns the directory of a canonical path; that of "/" is "/".
func parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

// join appends one component to a canonical path.
func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// joinIn is join, made of text without a copy where text begins with it, as the path
// that is walked does until a symlink leads elsewhere.
func joinIn(text, dir, name string) string {
	at := len(dir)
	if dir == "/" {
		at = 0
	}
	end := at + 1 + len(name)
	if end <= len(text) && text[:at] == dir[:at] && text[at] == '/' && text[at+1:end] == name {
		return text[:end]
	}
	return join(dir, name)
}

// depth counts the components of a canonical path: 0 for "/".
func depth(p string) int {
	if p == "/" {
		return 0
	}
	return strings.Count(p, "/")
}

// Ancestors returns the directories above a canonical path, from the nearest to
// "/", which it includes. "/" has none.
func Ancestors(p string) []string {
	up := make([]string, 0, depth(p))
	for p != "/" {
		p = parent(p)
		up = append(up, p)
	}
	return up
}

// Upward yields a canonical path and the directories above it, from the nearest
// to "/". It allocates nothing.
func Upward(p string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for yield(p) && p != "/" {
			p = parent(p)
		}
	}
}

// maxPath is the longest path that the kernel takes (PATH_MAX without the NUL,
// include/uapi/linux/limits.h).
const maxPath = 4095

// checkLiteral refuses what no root can be, however it was given.
//
//lint:ignore ST1008 the hint belongs to the error and is read after it
func checkLiteral(path string) (err error, hint string) {
	switch {
	case path == "":
		return ErrEmpty, "give the absolute path of a file or directory"
	case strings.IndexByte(path, 0) >= 0:
		return ErrNUL, "no file name can hold one"
	case len(path) > maxPath:
		return ErrTooLong, "no call can name it, and nothing could be confined to it or kept from it"
	case path[0] != '/':
		return ErrRelative, "write the whole path, starting with /"
	}
	return nil, ""
}

// checkWritten is checkLiteral for a policy file, where a shell's shorthand is
// more likely a mistake than a file name: nothing in a policy is expanded.
//
//lint:ignore ST1008 the hint belongs to the error and is read after it
func checkWritten(path string) (err error, hint string) {
	if strings.HasPrefix(path, "~") {
		return ErrPattern, "write out the home directory: ~ is not expanded in a policy"
	}
	if strings.HasPrefix(path, "$") {
		return ErrPattern, "write out the variable's value: $ is not expanded in a policy"
	}
	if err, hint = checkLiteral(path); err != nil {
		return err, hint
	}
	if i := strings.IndexAny(path, "*?[$~"); i >= 0 {
		return ErrPattern, "name each path in full; a name that really holds " + path[i:i+1] + " can be given by a flag, where it is taken literally"
	}
	return nil, ""
}
