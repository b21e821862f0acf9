package policy

import (
	"errors"
	"fmt"
)

// The reasons for which a root is refused. A [*RootError] or a [*SyntaxError]
// wraps one of them.
var (
	ErrEmpty      = errors.New("path is empty")
	ErrRelative   = errors.New("path is not absolute")
	ErrNUL        = errors.New("path holds a NUL byte")
	ErrPattern    = errors.New("path holds a character that is never expanded")
	ErrDeniedRoot = errors.New(`"/" cannot be a denied root`)
	ErrSystemRoot = errors.New("path belongs to the kernel or to the private /dev")
	ErrSamePath   = errors.New("the same path is a denied root")
	ErrLink       = errors.New("path goes through a symlink that the command could have planted")
	ErrProcLink   = errors.New("path goes through a link in /proc, which leads elsewhere for every process")
	ErrLoop       = errors.New("too many symlinks")
	ErrNotDir     = errors.New("not a directory")
	ErrTooLong    = errors.New("path is longer than the kernel takes")
	ErrDotDot     = errors.New(`".." follows a directory that does not exist`)
)

// RootError says why one root of a policy was refused.
type RootError struct {
	List List
	Path string // as the caller wrote it
	Flag bool   // whether it came from the command line and not from a file
	Err  error
	Fix  string // what to change; may be empty
}

func (e *RootError) Error() string {
	name := e.List.String()
	if e.Flag {
		name = e.List.Flag()
	}
	return fmt.Sprintf("%s %q: %v", name, e.Path, e.Err)
}

func (e *RootError) Unwrap() error { return e.Err }

// Hint returns what to change, or "".
func (e *RootError) Hint() string { return e.Fix }

// SyntaxError says where a policy file departs from the language.
type SyntaxError struct {
	Line, Column int    // both count from 1; columns are bytes
	Field        string // the field it is about, or ""
	Err          error
	Fix          string // what to change; may be empty
}

func (e *SyntaxError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%d:%d: %v", e.Line, e.Column, e.Err)
	}
	return fmt.Sprintf("%d:%d: %s: %v", e.Line, e.Column, e.Field, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// Hint returns what to change, or "".
func (e *SyntaxError) Hint() string { return e.Fix }
