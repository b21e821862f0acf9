package denial

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Failure is a line in which a program says that the kernel refused something.
type Failure struct {
	Line  int    // from 1
	Text  string // the line
	Errno Errno

	paths []string // what may be the path, the likeliest first
	op    Op       // "" where no word says it
	shell bool     // whether a program was perhaps to be started
	lone  string   // the path that stands where the program's own name may
}

// maxLine bounds what is looked at of one line: two of the longest paths fit.
const maxLine = 16 << 10

// minLine is the length of the shortest line that names an error and a path.
const minLine = len("x: EPERM")

// needles are what the errors of errnos are found by, made once for a text: it may be
// megabytes of short lines that a hostile command wrote.
type needles struct {
	texts, forms []needle
}

type needle struct {
	name        Errno
	text, lower string
}

func lookFor() (n needles) {
	for _, e := range errnos {
		for _, text := range e.texts {
			n.texts = append(n.texts, needle{e.name, text, strings.ToLower(text)})
		}
		for _, text := range []string{string(e.name), "[Errno " + e.number + "]", "os error " + e.number + ")", "errno " + e.number, "errno=" + e.number} {
			n.forms = append(n.forms, needle{name: e.name, text: text})
		}
	}
	return n
}

// Scan finds the failures in what a command wrote to its standard error.
func Scan(text string) []Failure {
	var list []Failure
	n, words := 0, lookFor()
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if len(line) < minLine {
			continue
		}
		if len(line) > maxLine {
			line = line[:maxLine]
		}
		if f, ok := scanLine(line, words); ok {
			f.Line = n
			list = append(list, f)
		}
	}
	return list
}

func scanLine(line string, look needles) (Failure, bool) {
	errno, from, to := look.findErrno(line)
	if errno == "" {
		return Failure{}, false
	}
	f := Failure{Text: line, Errno: errno}
	before := strings.TrimRight(line[:from], " :([-,")
	f.paths = quoted(line)
	segments := strings.Split(before, ": ")
	last := segments[len(segments)-1]
	switch {
	case len(f.paths) > 0: // a program that quotes, quotes the path
	case len(segments) > 1:
		f.paths = unquoted(last)
	case strings.Contains(last, "/"):
		f.paths = unquoted(last)
		f.lone = last
	}
	if after, ok := strings.CutPrefix(line[to:], ": "); ok && len(quoted(line)) == 0 {
		f.paths = append(f.paths, unquoted(after)...)
	}
	f.op, f.shell = words(line, f.paths)
	return f, true
}

// findErrno returns the error that a line names last, and where. Its text in any
// language goes before its name, and that before its number.
func (n needles) findErrno(line string) (name Errno, from, to int) {
	lower := strings.ToLower(line)
	same := len(lower) == len(line) // or positions in one are none in the other
	for _, e := range n.texts {
		if same && !strings.Contains(lower, e.lower) {
			continue // which is several times faster than to look from the end
		}
		at := strings.LastIndex(line, e.text)
		if at < 0 && same {
			at = strings.LastIndex(lower, e.lower)
		}
		// Of two at one place the longer counts: "No such file" begins another.
		if at >= 0 && (name == "" || at > from || (at == from && at+len(e.text) > to)) {
			name, from, to = e.name, at, at+len(e.text)
		}
	}
	if name != "" {
		return name, from, to
	}
	for _, e := range n.forms {
		if at := strings.Index(line, e.text); at >= 0 && !inWord(line, at+len(e.text)) && !inWord(line, at-1) {
			return e.name, at, at + len(e.text)
		}
	}
	return "", 0, 0
}

func inWord(s string, i int) bool {
	return i >= 0 && i < len(s) && (s[i] == '_' || s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z')
}

// quotes are the pairs in which programs of any language put a path.
var quotes = [...][2]string{
	{"'", "'"},
	{`"`, `"`},
	{"`", "'"},
	{"`", "`"},
	{"‘", "’"},
	{"“", "”"},
	{"„", "“"},
	{"‚", "‘"},
	{"« ", " »"},
	{"« ", " »"},
	{"«", "»"},
	{"»", "«"},
	{"”", "”"},
	{"’", "’"},
	{"「", "」"},
}

func quoted(line string) (list []string) {
	for i := 0; i < len(line); {
		found := false
		for _, q := range quotes {
			rest, ok := strings.CutPrefix(line[i:], q[0])
			if !ok || (i > 0 && inWord(line, i-1)) { // an apostrophe: can't
				continue
			}
			if text, _, ok := strings.Cut(rest, q[1]); ok && text != "" {
				list = append(list, unspaced(q[0], text))
				i += len(q[0]) + len(text) + len(q[1])
				found = true
				break
			}
		}
		if !found {
			_, size := utf8.DecodeRuneInString(line[i:])
			i += size
		}
	}
	return list
}

// unspaced takes off the spaces that French has inside its quotes.
func unspaced(quote, text string) string {
	if quote == "«" {
		return strings.TrimSpace(text)
	}
	return text
}

// unquoted returns what may be the path in words that end with it.
func unquoted(s string) (list []string) {
	s = strings.TrimSpace(s)
	add := func(p string) {
		if p != "" && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	if !strings.Contains(s, " ") || strings.HasPrefix(s, "/") {
		add(s)
	}
	if i := strings.Index(s, " /"); i >= 0 {
		add(s[i+1:])
	}
	add(s[strings.LastIndexByte(s, ' ')+1:])
	return list
}

// Words that tell what was wanted. Names of programs and of system calls are the
// same in every language.
var (
	deletes  = []string{"rm", "rmdir", "unlink", "unlinkat", "remove", "delete"}
	renames  = []string{"mv", "rename", "renameat", "move"}
	creates  = []string{"mkdir", "mknod", "mkfifo", "mktemp", "create", "creating", "touch", "symlink", "nonexistent"}
	metadata = []string{"chmod", "chown", "chgrp", "setfattr", "setfacl", "utime", "utimes", "utimensat", "permissions", "ownership", "times"}
	starters = []string{"sh", "dash", "bash", "zsh", "ksh", "fish", "busybox", "env", "exec", "execve", "execvp", "spawn", "nice", "nohup", "timeout", "xargs", "sudo", "time"}
)

func words(line string, paths []string) (op Op, shell bool) {
	for _, p := range paths {
		line = strings.ReplaceAll(line, p, " ")
	}
	for _, w := range strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch {
		case slices.Contains(starters, w):
			shell = true
		case op != "":
		case slices.Contains(deletes, w):
			op = Delete
		case slices.Contains(renames, w):
			op = Rename
		case slices.Contains(creates, w):
			op = Create
		case slices.Contains(metadata, w):
			op = Metadata
		}
	}
	return op, shell
}
