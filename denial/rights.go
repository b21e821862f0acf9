package denial

import "strings"

// gains are how programs that need the rights of their file's owner say that they did
// not get them: sudo and sudo-rs, pkexec, doas, and what they share.
var gains = []string{
	`"no new privileges" flag is set`,
	"effective uid is not 0",
	"must be setuid root",
	"must be owned by uid 0 and have the setuid bit set",
	"not installed setuid",
}

// Line is a line of what a command wrote.
type Line struct {
	Number int // from 1
	Text   string
}

// Rights finds the lines in which a program says that it lacks the rights of its
// owner. No sandboxed program on Linux gets those, whatever the policy (prctl(2),
// PR_SET_NO_NEW_PRIVS): it could otherwise lift the sandbox.
func Rights(text string) []Line {
	var list []Line
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		for _, words := range gains {
			if len(line) <= maxLine && strings.Contains(line, words) {
				list = append(list, Line{n, line})
				break
			}
		}
	}
	return list
}
