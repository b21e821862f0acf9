package readonly

import (
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/shell"
)

// operands is what the words of a command that are no options mean.
type operands int

const (
	none    operands = iota
	text             // words of no consequence
	names            // paths of which only names and metadata are read
	files            // paths whose contents are read
	pattern          // a pattern, unless an option gives it, then files
)

// model is what is known of a command. A word of options is one of:
//
//	-abc    letters without a value
//	-n:     letters with a value          -f@  ... that is a file to read
//	-C?     letters with an optional value, attached
//	-#      a number as an option, as in head -5
//	-L%     letters whose value is always the next word, or a number attached
//	-R!     letters that make it follow links beneath the directories it is given
//	--name  a long option; --name= with a value, --name@ with a file to read,
//	        --name? with an optional value, attached; --name! as above
//
// An option that is not there is unknown, and an abbreviation is not there.
type model struct {
	options string
	kind    operands
	most    int  // operands at most; 0 for any number
	first   bool // options end at the first operand
	walks   bool // it opens what is in the directories that it is given
	raw     bool // no option does more than show: every word is accepted
	tame    bool // no option does more than read the files it is given
}

// option finds what comes after the name of an option in the options of a model;
// ok is false if the option is unknown.
func (m model) option(name string) (kind byte, ok bool) {
	long := len(name) > 1
	for rest := m.options; rest != ""; {
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		if strings.HasPrefix(word, "--") != long {
			continue
		}
		mark := word[len(word)-1]
		if strings.IndexByte(":@?=!%", mark) >= 0 {
			word = word[:len(word)-1]
		} else {
			mark = 0
		}
		if long && word[2:] == name || !long && strings.Contains(word[1:], name) && (name != "#") {
			if mark == '=' {
				mark = ':'
			}
			return mark, true
		}
	}
	return 0, false
}

// scan is the reading of one command's words by its model.
type scan struct {
	model
	r        *run
	name     string
	operands []shell.Word
	seen     map[string]bool // the options seen, with their values if attached
	follows  bool
	ended    int // operands seen before "--"; -1 until then
}

// model judges the words of a command by its model.
func (r *run) model(name string, m model, args []shell.Word) string {
	if m.raw {
		return ""
	}
	s := &scan{model: m, r: r, name: name, seen: map[string]bool{}, ended: -1}
	if why := s.read(args); why != "" {
		return why
	}
	return s.judge()
}

func (s *scan) unknown(option string) string {
	return s.name + " " + option + " is not known to be read-only"
}

// read parts options from operands.
func (s *scan) read(args []shell.Word) string {
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case s.ended < 0 && s.kind == files && word.Known && strings.HasPrefix(word.Text, "+"):
			return s.unknown(word.Text) // less runs it, sort of old takes it for an option
		case s.ended >= 0 || word.Stream || word.Glob || word.Known && (word.Text == "-" || !strings.HasPrefix(word.Text, "-")):
			s.operands = append(s.operands, word)
		case !word.Known:
			s.r.unknown = s.r.unknown || s.kind == files || s.kind == pattern && (word.Split || len(s.operands) > 0)
			return "the word " + word.Text + " of " + s.name + " is not known"
		case s.first && len(s.operands) > 0:
			return s.unknown("with " + word.Text + " after a file")
		case word.Text == "--":
			s.ended = len(s.operands)
		default:
			used, why := s.take(word.Text, args[i+1:])
			if why != "" {
				return why
			}
			i += used
		}
	}
	return ""
}

// take reads one word of options; it returns how many of the next words are the
// value.
func (s *scan) take(word string, next []shell.Word) (int, string) {
	if strings.HasPrefix(word, "--") {
		name, value, attached := strings.Cut(word[2:], "=")
		kind, ok := s.option(name)
		if !ok || len(name) < 2 || attached && (kind == 0 || kind == '!') {
			return 0, s.unknown(word)
		}
		s.seen["--"+name] = true
		s.follows = s.follows || kind == '!'
		return s.value(kind, word, value, attached, next)
	}
	if strings.Trim(word[1:], "0123456789") == "" && strings.Contains(" "+s.options+" ", " -# ") {
		return 0, ""
	}
	for i := 1; i < len(word); i++ {
		kind, ok := s.option(word[i : i+1])
		if !ok {
			return 0, s.unknown(word)
		}
		s.seen["-"+word[i:i+1]] = true
		s.follows = s.follows || kind == '!'
		if kind == '%' {
			if strings.Trim(word[i+1:], "0123456789") != "" {
				return 0, s.unknown(word)
			}
			kind = ':'
		}
		if kind != 0 && kind != '!' {
			return s.value(kind, word, word[i+1:], i+1 < len(word), next)
		}
	}
	return 0, ""
}

func (s *scan) value(kind byte, word, value string, attached bool, next []shell.Word) (int, string) {
	if kind != ':' && kind != '@' {
		return 0, ""
	}
	used := 0
	given := shell.Word{Text: value, Known: true}
	if !attached {
		if len(next) == 0 {
			return 0, s.unknown(word)
		}
		given, used = next[0], 1
	}
	if given.Split && !given.Stream {
		return 0, "the value of " + word + " may be several words"
	}
	if kind == '@' {
		return used, s.r.content(given, true)
	}
	return used, ""
}

// judge looks at the operands.
func (s *scan) judge() string {
	list := s.operands
	if s.kind == pattern && !s.seen["-e"] && !s.seen["-f"] && !s.seen["--regexp"] && !s.seen["--file"] && !s.seen["--files"] {
		if len(list) == 0 {
			return ""
		}
		if list[0].Split {
			return "the pattern may be several words"
		}
		list = list[1:]
	}
	if s.kind == none && len(list) > 0 || s.most > 0 && len(list) > s.most {
		return s.name + " takes fewer words"
	}
	s.follows = s.follows || s.walks
	for i, word := range list {
		if s.most > 0 && word.Split {
			return "the word " + word.Text + " of " + s.name + " may be several"
		}
		switch s.kind {
		case text, names:
			if word.Split && !s.tame && s.ended < 0 && (!word.Glob || word.Resplit || s.r.dashed(word.Text)) {
				return "the word " + word.Text + " may be an option"
			}
		default:
			why := s.r.content(word, !s.tame && (s.ended < 0 || i < s.ended))
			if why != "" {
				return why
			}
			if s.follows && word.Glob && !s.r.AnyRoot {
				return "it follows links, and one may lead out of what " + word.Text + " matches"
			}
			if s.follows && word.Known && word.Text != "-" && !s.r.AnyRoot {
				for _, cwd := range s.r.cwds {
					if s.r.Facts == nil || s.r.Facts.Escapes(absolute(cwd, word.Text)) {
						return "it follows links, and one may lead out of " + word.Text
					}
				}
			}
		}
	}
	if s.follows && len(list) == 0 && !s.r.AnyRoot && (s.r.Facts == nil || slices.ContainsFunc(s.r.cwds, s.r.Facts.Escapes)) {
		return "it follows links, and one may lead out"
	}
	return ""
}
