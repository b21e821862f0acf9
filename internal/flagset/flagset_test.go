package flagset

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// sample knows --text, which takes a value, and --on, which takes none.
func sample(name string) Takes {
	switch name {
	case "text":
		return Value
	case "on":
		return Nothing
	}
	return Unknown
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, args string // words between blanks; "''" is the empty one
		set        string
		rest       string
		dash       bool
		err        string
	}{
		{"nothing", "", "", "", false, ""},
		{"value in the next word", "--text a", "text=a", "", false, ""},
		{"value behind =", "--text=a", "text=a", "", false, ""},
		{"value with = in it", "--text=a=b", "text=a=b", "", false, ""},
		{"empty value behind =", "--text=", "text=", "", false, ""},
		{"empty value in the next word", "--text ''", "text=", "", false, ""},
		{"value that looks like a flag", "--text --on", "text=--on", "", false, ""},
		{"value that is --", "--text -- a", "text=--", "a", false, ""},
		{"flag without value", "--on a", "on=true", "a", false, ""},
		{"flag without value gets one behind =", "--on=false", "on=false", "", false, ""},
		{"flag without value gets an empty one", "--on=", "on=", "", false, ""},
		{"one flag twice", "--text a --text b", "text=a text=b", "", false, ""},
		{"-- ends flags", "--on -- --text a", "on=true", "--text a", true, ""},
		{"only the first -- is taken", "-- -- a", "", "-- a", true, ""},
		{"-- at the end", "--on --", "on=true", "", true, ""},
		{"first other word ends flags", "--on a --text b", "on=true", "a --text b", false, ""},
		{"-- behind another word stays", "a -- b", "", "a -- b", false, ""},
		{"a dash is a word", "- --on", "", "- --on", false, ""},
		{"an empty word is a word", "'' --on", "", "'' --on", false, ""},
		{"help", "--help", "", "", false, "help is asked for"},
		{"help with a value", "--help=x", "", "", false, "help is asked for"},
		{"short help", "-h", "", "", false, "help is asked for"},
		{"short help and more", "-hx", "", "", false, "help is asked for"},
		{"unknown flag", "--off", "", "", false, "unknown flag: --off"},
		{"the value of an unknown flag is not shown", "--off=secret", "", "", false, "unknown flag: --off"},
		{"an abbreviation is unknown", "--tex a", "", "", false, "unknown flag: --tex"},
		{"another case is unknown", "--On", "", "", false, "unknown flag: --On"},
		{"short flag", "-o", "", "", false, "unknown shorthand flag: 'o' in -o"},
		{"one dash before a name", "-text a", "", "", false, "unknown shorthand flag: 't' in -text"},
		{"no flag of go test's passes", "-test.v", "", "", false, "unknown shorthand flag: 't' in -test.v"},
		{"three dashes", "---on", "", "", false, "bad flag syntax: ---on"},
		{"no name", "--=a", "", "", false, "bad flag syntax: --=a"},
		{"no value left", "--text", "", "", false, "flag needs an argument: --text"},
		{"what comes before an error is set", "--on --off --text a", "on=true", "", false, "unknown flag: --off"},
		{"a refused value ends it", "--text bad --on", "text=bad", "", false, `invalid argument "bad" for "--text" flag: refused`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen []string
			rest, dash, err := Parse(words(tt.args), sample, func(name, value string) error {
				seen = append(seen, name+"="+value)
				if value == "bad" {
					return errors.New("refused")
				}
				return nil
			})
			if got := strings.Join(seen, " "); got != tt.set {
				t.Errorf("Parse(%q) set %q, want %q", tt.args, got, tt.set)
			}
			if !slices.Equal(rest, words(tt.rest)) || dash != tt.dash {
				t.Errorf("Parse(%q) = %q, %v, want %q, %v", tt.args, rest, dash, tt.rest, tt.dash)
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != tt.err {
				t.Errorf("Parse(%q): error %q, want %q", tt.args, text, tt.err)
			}
		})
	}
}

func words(s string) []string {
	list := strings.Fields(s)
	for i := range list {
		if list[i] == "''" {
			list[i] = ""
		}
	}
	return list
}

func TestSet(t *testing.T) {
	tests := []struct {
		name, args   string
		interspersed bool
		text         string
		on           bool
		rest         string
		err          string
	}{
		{"flags end at another word", "--text a b --on", false, "a", false, "b --on", ""},
		{"interspersed they do not", "--text a b --on c", true, "a", true, "b c", ""},
		{"interspersed they end at --", "a --on -- b --text c", true, "", true, "a b --text c", ""},
		{"no truth value", "--on=maybe", false, "", false, "", `invalid argument "maybe" for "--on" flag: strconv.ParseBool: parsing "maybe": invalid syntax`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Set{Interspersed: tt.interspersed}
			var text string
			var on bool
			s.StringVar(&text, "text")
			s.BoolVar(&on, "on")
			err := s.Parse(words(tt.args))
			if (err == nil) != (tt.err == "") || (err != nil && err.Error() != tt.err) {
				t.Fatalf("Parse(%q) = %v, want %q", tt.args, err, tt.err)
			}
			if text != tt.text || on != tt.on || !slices.Equal(s.Args(), words(tt.rest)) {
				t.Errorf("Parse(%q): text %q, on %v, words %q; want %q, %v, %q", tt.args, text, on, s.Args(), tt.text, tt.on, tt.rest)
			}
			if s.Changed("text") != (tt.text != "") || s.Changed("no-flag") {
				t.Errorf("Changed(text) = %v, Changed(no-flag) = %v", s.Changed("text"), s.Changed("no-flag"))
			}
		})
	}
}

// What was read, written down as --name=value and read again, is the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "--text\na\n--on\n--\nb", "--text=a=b\nc", "--on=\n-h", "---on", "--=", "-\n--on", "--text\n--"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		before := slices.Clone(args)
		read := func(args []string) (seen, rest []string, dash bool, err error) {
			rest, dash, err = Parse(args, sample, func(name, value string) error {
				seen = append(seen, "--"+name+"="+value)
				return nil
			})
			return seen, rest, dash, err
		}
		seen, rest, dash, err := read(args)
		if !slices.Equal(args, before) {
			t.Fatalf("Parse(%q) changed its argument to %q", before, args)
		}
		if err != nil {
			if rest != nil || dash {
				t.Fatalf("Parse(%q) = %q, %v with the error %v", args, rest, dash, err)
			}
			return
		}
		if !slices.Equal(rest, args[len(args)-len(rest):]) {
			t.Fatalf("Parse(%q) leaves %q, which is no end of it", args, rest)
		}
		again := slices.Clone(seen)
		if dash {
			again = append(again, "--")
		}
		seen2, rest2, dash2, err := read(append(again, rest...))
		if err != nil || dash2 != dash || !slices.Equal(seen2, seen) || !slices.Equal(rest2, rest) {
			t.Fatalf("Parse(%q) = %q, %q, %v; read again %q, %q, %v, %v", args, seen, rest, dash, seen2, rest2, dash2, err)
		}
	})
}
