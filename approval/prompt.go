package approval

import (
	"fmt"
	"strconv"
	"strings"
)

// Word is what a person types to allow a request.
const Word = "allow"

// screen is how much is surely in sight, in characters: a word or a reason may be made
// of blanks, and end in what is harmless.
const screen = 1000

// Prompt returns what a person at a terminal is shown. The command is all of it, each
// word so quoted that two commands never look alike, and that no word can move the
// cursor, change a colour, run from right to left or begin a line: all but plain
// ASCII is escaped.
func Prompt(r Request, argv []string) string {
	var s strings.Builder
	s.WriteString("\nletta-confine: may this command run")
	if r.Mode != "" {
		s.WriteString(" in the mode " + Quote(r.Mode) + ", once")
	}
	s.WriteString("?\n  command:")
	for _, word := range argv {
		s.WriteString(" " + Quote(word))
	}
	s.WriteString("\n  tool:    " + Quote(r.ToolName))
	if r.CallID != "" {
		s.WriteString(", call " + Quote(r.CallID))
	}
	s.WriteString("\n  reason:  " + strconv.QuoteToASCII(r.Reason))
	if r.Mode != "" {
		s.WriteString("\n  mode:    " + Quote(r.Mode))
	}
	if s.Len() > screen {
		fmt.Fprintf(&s, "\n  beware:  this has %d characters, and its beginning may be out of sight", s.Len())
	}
	s.WriteString("\nType " + Word + " to allow it this once; anything else rejects it, ^C cancels: ")
	return s.String()
}

// plain are the characters of a word that needs no quotes.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%"

// Quote returns the word as it is, or in quotes with all escaped but plain ASCII.
func Quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return strconv.QuoteToASCII(word)
}

// Typed returns the outcome that a line says which a person typed, with what ended
// it: a new line, or the characters of ^C and ^\, or nothing for the end of input.
func Typed(line string) Outcome {
	text, whole := strings.CutSuffix(line, "\n")
	switch {
	case strings.ContainsAny(line, "\x03\x1c") || !whole:
		return Cancelled
	case strings.Trim(text, " \t") == Word:
		return AllowedOnce
	}
	return Rejected
}
