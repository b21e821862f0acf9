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

// errorFormatOf finds --error-format before the flags are parsed: a program that
// asks for JSON gets it also where a flag before it is wrong, or the subcommand.
func errorFormatOf(args []string) string {
	const name = "--error-format"
	format := errorText
	for i, arg := range args {
		switch value, given := strings.CutPrefix(arg, name+"="); {
		case arg == "--":
			return format
		case given:
			format = value
		case arg == name && i+1 < len(args):
			format = args[i+1]
		}
	}
	return format
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
func complain(text string) { os.Stderr.WriteString(oneLine(text) + "\n") }

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
	if errorFormat == errorJSON {
		said{Code: status, Error: err.Error(), Hint: hint}.write()
		return status
	}
	say("error", err.Error())
	if hint != "" {
		say("hint", hint)
	}
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
