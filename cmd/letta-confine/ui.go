package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
)

// The rules of what the program itself says: everything goes to standard error
// in lines of "letta-confine: error|hint|warning: text"; texts are lower case,
// one line, without a full stop, with a path once and in quotes. On success it
// says nothing. Nothing is coloured, on a terminal neither, so NO_COLOR has
// nothing to turn off. A test keeps other files from standard error.

// The words of --error-format.
const (
	errorText = "text"
	errorJSON = "json"
)

// errorFormat is how errors and warnings are said.
var errorFormat string

// annotates is whether errors are said to GitHub too (--annotate github).
var annotates bool

// setSpeech finds what says how to speak before the flags are parsed: a program that
// asks for JSON gets it also where a flag before it is wrong, or the subcommand.
func setSpeech(args []string) {
	errorFormat = early(args, "--error-format", errorText)
	annotates = early(args, "--annotate", "") == "github"
}

// early returns the value of a flag, or without one the default.
func early(args []string, name, value string) string {
	for i, arg := range args {
		switch v, given := strings.CutPrefix(arg, name+"="); {
		case arg == "--":
			return value
		case given:
			value = v
		case arg == name && i+1 < len(args):
			value = args[i+1]
		}
	}
	return value
}

// annotate says an error as a workflow command of GitHub's, where that was asked
// for. Its syntax is escaped, so that no name of a file can begin another command.
func annotate(title, text string) {
	if annotates {
		complain(annotation(title, text))
	}
}

func annotation(title, text string) string {
	data := func(s string) string {
		s = strings.ReplaceAll(s, "%", "%25")
		return strings.ReplaceAll(strings.ReplaceAll(s, "\r", "%0D"), "\n", "%0A")
	}
	title = strings.ReplaceAll(strings.ReplaceAll(data("letta-confine: "+title), ":", "%3A"), ",", "%2C")
	return "::error title=" + title + "::" + data(text)
}

// failed says why the run ends with a status that is not the command's own.
func failed(status int, text, hint string) {
	if errorFormat == errorJSON {
		said{Code: status, Error: text, Hint: hint}.write()
		return
	}
	say("error", text)
	if hint != "" {
		say("hint", hint)
	}
}

// said is a line of the program's own as JSON: an error or a warning.
type said struct {
	Schema  int    `json:"schema"`
	Code    int    `json:"code,omitempty"` // the exit status
	Error   string `json:"error,omitempty"`
	Hint    string `json:"hint,omitempty"`
	Warning string `json:"warning,omitempty"`
}

// write says it as one object on a line.
func (s said) write() {
	s.Schema, s.Error, s.Hint, s.Warning = schemaVersion, oneLine(s.Error), oneLine(s.Hint), oneLine(s.Warning)
	line, err := json.Marshal(s)
	if err == nil {
		os.Stderr.Write(append(line, '\n'))
	}
}

// say writes a line of the program's own.
func say(kind, text string) { complain("letta-confine: " + kind + ": " + text) }

// complain writes one line to standard error, whatever the text holds. It is one
// write, so that lines of programs that share the terminal are not mixed.
func complain(text string) {
	if annotates { // GitHub's older commands begin anywhere in a line
		text = strings.ReplaceAll(text, "##[", "## [")
	}
	os.Stderr.WriteString(oneLine(text) + "\n")
}

// oneLine blanks what ends a line or controls a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

// warn says a warning.
func warn(text string) {
	if errorFormat == errorJSON {
		said{Warning: text}.write()
		return
	}
	say("warning", text)
}

// fail says an error, and what to change where there is a cure, and returns the
// exit status.
func fail(err error) int {
	status, hint := exitStatus(err), hintOf(err)
	annotate("the command did not run", err.Error())
	failed(status, err.Error(), hint)
	return status
}

// failQuietly is fail for a face whose caller takes each line for a failure of its
// own kind: there is one line.
func failQuietly(err error) int {
	say("error", err.Error())
	return exitStatus(err)
}

// hinter is an error that knows its cure.
type hinter interface {
	error
	Hint() string
}

func hintOf(err error) string {
	if h, ok := errors.AsType[hinter](err); ok {
		return h.Hint()
	}
	return ""
}

// hinted is an error with a cure.
type hinted struct {
	error
	hint string
}

func (h *hinted) Hint() string  { return h.hint }
func (h *hinted) Unwrap() error { return h.error }

// withHint adds a cure to an error.
func withHint(err error, hint string) error { return &hinted{err, hint} }

// usageHint is the cure for a command line that is none.
const usageHint = "usage: letta-confine [flags] -- command [argument ...]; see letta-confine --help"

func usageError(text string) error { return withHint(errors.New(text), usageHint) }
