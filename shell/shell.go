// Package shell reads a command line as the shell will, and says which simple
// commands it holds: their words, assignments and redirections, where they stand
// in the text, and the commands that wrappers such as env, xargs or sh -c run.
// What is not known before the command runs is marked so; nothing is guessed.
// It opens no file and runs nothing.
//
// # Limits
//
// Aliases, functions of the user's start-up files and what PATH names are not
// seen: a command word means what it usually means. A here-document whose
// delimiter is quoted only in part is taken for an unquoted one, which can only
// make its body look less harmless than it is.
package shell

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// MaxLen is the length in bytes of the longest text that is read.
const MaxLen = 10000

// maxCommands bounds the simple commands of one text, loops unrolled.
const maxCommands = 2000

// maxSteps bounds the statements that are walked through.
const maxSteps = 2 * maxCommands

// maxDepth bounds scripts within scripts.
const maxDepth = 8

// Word is one word of a simple command after the shell's expansions.
type Word struct {
	// Text is the word's value if Known, the pattern if Glob, and otherwise the
	// word as it stands in the text.
	Text string
	// Known says that the word is exactly Text, whatever the state of the host.
	Known bool
	// Glob says that Text is a pattern for names of files, in which a backslash
	// quotes. Such a word is not Known and may become many.
	Glob bool
	// Split says of a word that is not Known that it may become any number of
	// words.
	Split bool
	// Resplit says of a Glob that it is the value of a variable without quotes: what
	// it matches is split at blanks, and taken for a pattern, once more.
	Resplit bool
	// Stream says that the word names the output of commands that are among
	// Script.Commands too: <(command).
	Stream bool
}

// Assign is an assignment before a command, or alone.
type Assign struct {
	Name  string
	Value Word
}

// Ordinary reports whether setting the variable changes no program and no shell:
// those with a meaning have capitals, but for a few. Some shells take a value with a
// subscript in it for a program, where they want a number.
func (a Assign) Ordinary() bool {
	return syntax.ValidName(a.Name) && a.Name == strings.ToLower(a.Name) && !strings.Contains(a.Name, "proxy") && !strings.Contains(a.Name, "path") &&
		!strings.HasPrefix(a.Name, "npm_") && a.Name != "histchars" && a.Name != "auto_resume" && !strings.Contains(a.Value.Text, "[")
}

// Effect is what a redirection does to its target.
type Effect int

// The effects of redirections.
const (
	Reads  Effect = iota // <
	Writes               // > >> >| &> &>> >&word <>
	Dups                 // 2>&1, 2>&-, and here-documents: no file is opened
)

// Redir is a redirection.
type Redir struct {
	Op     string
	Effect Effect
	// Target is the file or descriptor, and of a here-document or here-string the
	// text.
	Target Word
}

// Command is a simple command, or, without Argv, what assignments and
// redirections stand alone or on a compound command.
type Command struct {
	Argv    []Word
	Assigns []Assign
	Redirs  []Redir
	// Start and End are its place in the text, in bytes. A command of a nested
	// script has the place of the command that runs it.
	Start, End int
	// Repeats says that it is in a loop and may run any number of times.
	Repeats bool
	// Inner are the commands that it runs, if it is a wrapper: what follows env,
	// the script of sh -c.
	Inner []Command
	// Hidden says that it runs commands whose text is not known.
	Hidden bool
	// Wrapper says that it is a wrapper whose options are all known, so that
	// running it is running Inner and no more.
	Wrapper bool
}

// Doubt is a place in the text that rules out that the whole is understood.
type Doubt struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Why   string `json:"why"`
}

// Script is a command line that was read.
type Script struct {
	// Commands are the simple commands, in the order of the text, those of loops,
	// conditions and functions among them; those of a substitution come before the
	// command that it is in. A loop over literal words is unrolled.
	Commands []Command
	// Doubts are empty if Commands are all that can run.
	Doubts []Doubt
}

// Each calls f with every command and, after each, those it wraps.
func (s *Script) Each(f func(Command)) { each(s.Commands, f) }

func each(commands []Command, f func(Command)) {
	for _, c := range commands {
		f(c)
		each(c.Inner, f)
	}
}

// Options say what will run a text.
type Options struct {
	// POSIX says that it may be any shell called sh: bash and a POSIX shell must
	// then read the text alike, or there is a doubt. Otherwise it is bash.
	POSIX bool
	// Vars are variables whose values are known; HOME is what ~ means.
	Vars map[string]string
	// budget is what may still be looked at within wrappers. Words that may all be
	// the command multiply.
	budget *int
}

func (o Options) spend() bool {
	*o.budget--
	return *o.budget >= 0
}

// Error is a text that is not read.
type Error struct {
	Offset int // in bytes
	Why    string
}

func (e *Error) Error() string { return fmt.Sprintf("%s at byte %d", e.Why, e.Offset) }

// Parse reads a command line that bash will run, knowing no variable.
func Parse(src string) (*Script, error) { return Options{}.Parse(src) }

// Parse reads a command line. Its error is an *Error.
func (o Options) Parse(src string) (*Script, error) {
	budget := maxCommands
	o.budget = &budget
	return o.parse(src, 0)
}

func (o Options) parse(src string, depth int) (*Script, error) {
	if err := refuse(src); err != nil {
		return nil, err
	}
	s, err := o.read(src, syntax.LangBash, depth)
	if err != nil || !o.POSIX {
		return s, err
	}
	other, err := o.read(src, syntax.LangPOSIX, depth)
	if err != nil || !reflect.DeepEqual(s, other) {
		s.Doubts = append(s.Doubts, Doubt{0, len(src), "bash and a posix shell read it differently"})
	}
	return s, nil
}

func (o Options) read(src string, lang syntax.LangVariant, depth int) (*Script, error) {
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(src), "")
	if err != nil {
		return nil, parseError(err)
	}
	w := &walker{src: src, options: o, lang: lang, depth: depth, vars: map[string]Word{}}
	for name, value := range o.Vars {
		w.vars[name] = Word{Text: value, Known: true}
	}
	w.taint(file)
	w.stmts(file.Stmts)
	if len(w.commands) > maxCommands || w.steps > maxSteps || *o.budget < 0 {
		return nil, &Error{0, "more commands than are looked at"}
	}
	return &Script{w.commands, w.doubts}, nil
}

func parseError(err error) *Error {
	switch err := err.(type) {
	case syntax.ParseError:
		return &Error{int(err.Pos.Offset()), err.Text}
	case syntax.LangError:
		return &Error{int(err.Pos.Offset()), err.Feature + " is not of this shell"}
	}
	return &Error{0, err.Error()}
}

// refuse says what must not be in a text: it would be hidden from the person who
// is asked, or be read differently by the parser and by the shell.
func refuse(src string) error {
	if len(src) > MaxLen {
		return &Error{MaxLen, "longer than is looked at"}
	}
	if !utf8.ValidString(src) {
		return &Error{strings.IndexRune(src, utf8.RuneError), "not valid utf-8"}
	}
	for i, r := range src {
		if hidden(r) {
			return &Error{i, fmt.Sprintf("a character that a person cannot see, U+%04X,", r)}
		}
	}
	// The parser loses the newline after a comment that ends in a backslash, and
	// takes the next line, which the shell runs, for a part of the comment. What
	// stands before the # is looked at on the safe side.
	for line, at := src, 0; ; {
		end := strings.IndexByte(line, '\n')
		if end < 0 {
			return nil
		}
		if strings.HasSuffix(line[:end], "\\") {
			for i := range end {
				if line[i] == '#' && (i == 0 || strings.IndexByte(" \t;&|()<>`", line[i-1]) >= 0) {
					return &Error{at + i, "a comment that ends in a backslash"}
				}
			}
		}
		line, at = line[end+1:], at+end+1
	}
}

// hidden reports whether r shows nothing, or is a blank for people but not for
// the shell.
func hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
	}
	return r == 0x2800 || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Zs,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
