package main

import (
	"errors"
	"os"
	"strings"
)

// The rules of what the program itself says: everything goes to standard error
// in lines of "letta-confine: error|hint|warning: text"; texts are lower case,
// one line, without a full stop, with a path once and in quotes. On success it
// says nothing.

// say writes one line. It is one write, so that lines of programs that share
// the terminal are not mixed.
func say(kind, text string) {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	os.Stderr.WriteString("letta-confine: " + kind + ": " + text + "\n")
}

// fail says an error, and what to change where there is a cure, and returns the
// exit status.
func fail(err error) int {
	say("error", err.Error())
	if h := hintOf(err); h != "" {
		say("hint", h)
	}
	return exitStatus(err)
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

func usageError(text string) error {
	return withHint(errors.New(text), "usage: letta-confine [flags] -- command [argument ...]; see letta-confine --help")
}
