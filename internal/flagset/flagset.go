// Package flagset reads command lines of long flags: --name value, --name=value
// and, where a flag takes none, --name or --name=false. Flags end at "--" or at the
// first word that is none.
//
// It keeps nothing at package level and makes nothing per flag, because the
// launcher reads a command line at every start (docs/decisions/0003-flags.md).
//
// # Limits
//
// There are no short flags but -h, no abbreviations and no optional values. A word
// that looks like a flag is taken as a value by a flag that wants one.
package flagset

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Takes says what a flag takes.
type Takes int

// What a flag can take.
const (
	Unknown Takes = iota // there is no such flag
	Nothing              // "true", unless a value stands behind a "="
	Value                // a value, if need be the next word
)

// ErrHelp is the error where a command line asks for help and that is no flag.
var ErrHelp = errors.New("help is asked for")

// ValueError says that a flag refused its value.
type ValueError struct {
	Name, Value string
	Err         error
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("invalid argument %q for \"--%s\" flag: %v", e.Value, e.Name, e.Err)
}

func (e *ValueError) Unwrap() error { return e.Err }

// Parse gives set every flag in turn, as takes knows them, and returns the words
// from the first that is no flag, and whether a "--" stood before them. It ends at
// the first error.
func Parse(args []string, takes func(name string) Takes, set func(name, value string) error) (rest []string, dash bool, err error) {
	for len(args) > 0 {
		word := args[0]
		if len(word) < 2 || word[0] != '-' {
			break
		}
		args = args[1:]
		if word == "--" {
			return args, true, nil
		}
		if word[1] != '-' {
			if word[1] == 'h' {
				return nil, false, ErrHelp
			}
			return nil, false, errors.New("unknown shorthand flag: " + strconv.QuoteRune(rune(word[1])) + " in " + word)
		}
		name, value, given := strings.Cut(word[2:], "=")
		if name == "" || name[0] == '-' {
			return nil, false, errors.New("bad flag syntax: " + word)
		}
		switch kind := takes(name); {
		case kind == Unknown && name == "help":
			return nil, false, ErrHelp
		case kind == Unknown:
			return nil, false, errors.New("unknown flag: --" + name)
		case given:
		case kind == Nothing:
			value = "true"
		case len(args) == 0:
			return nil, false, errors.New("flag needs an argument: --" + name)
		default:
			value, args = args[0], args[1:]
		}
		if err := set(name, value); err != nil {
			return nil, false, &ValueError{name, value, err}
		}
	}
	return args, false, nil
}

// Set is a list of flags and what was read of them.
type Set struct {
	Name         string
	Interspersed bool // flags may follow other words

	flags []*flag
	args  []string
}

type flag struct {
	name    string
	takes   Takes
	set     func(string) error
	changed bool
}

// Func adds a flag that hands its value on.
func (s *Set) Func(name string, takes Takes, set func(string) error) {
	s.flags = append(s.flags, &flag{name: name, takes: takes, set: set})
}

// StringVar adds a flag whose value is stored as it is.
func (s *Set) StringVar(to *string, name string) {
	s.Func(name, Value, func(v string) error { *to = v; return nil })
}

// BoolVar adds a flag that takes no value.
func (s *Set) BoolVar(to *bool, name string) {
	s.Func(name, Nothing, func(v string) (err error) { *to, err = strconv.ParseBool(v); return err })
}

func (s *Set) find(name string) *flag {
	if i := slices.IndexFunc(s.flags, func(f *flag) bool { return f.name == name }); i >= 0 {
		return s.flags[i]
	}
	return nil
}

// Changed reports whether the flag was on the command line.
func (s *Set) Changed(name string) bool {
	f := s.find(name)
	return f != nil && f.changed
}

// Args are the words that are no flags.
func (s *Set) Args() []string { return s.args }

// Parse reads a command line.
func (s *Set) Parse(args []string) error {
	for {
		rest, dash, err := Parse(args,
			func(name string) Takes {
				if f := s.find(name); f != nil {
					return f.takes
				}
				return Unknown
			},
			func(name, value string) error {
				f := s.find(name)
				f.changed = true
				return f.set(value)
			})
		if err != nil || dash || len(rest) == 0 || !s.Interspersed {
			s.args = append(s.args, rest...)
			return err
		}
		s.args, args = append(s.args, rest[0]), rest[1:]
	}
}
