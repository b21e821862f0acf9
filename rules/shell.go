package rules

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/shell"
)

// shellRule is the compiled payload of a rule about commands.
type shellRule struct {
	commands [][]string // words; in each a * is any text, and alone any words
	prefix   bool       // more words may follow
}

// compile reads the payload of a rule: "a b" is exactly these words, "a b:*" and
// "a b *" are these words and any after them.
func compile(payload string) (*shellRule, error) {
	r := &shellRule{}
	text := strings.TrimSpace(payload)
	if text == "*" {
		return &shellRule{prefix: true}, nil
	}
	for _, tail := range []string{":*", " *"} {
		if rest, ok := strings.CutSuffix(text, tail); ok {
			text, r.prefix = rest, true
			break
		}
	}
	if strings.TrimSpace(text) == "" {
		return r, nil
	}
	script, err := shell.Parse(text)
	if err != nil {
		// A prefix may end within a quote. Then it is compared by its words.
		r.commands = [][]string{strings.Fields(text)}
		return r, nil
	}
	for _, c := range script.Commands {
		var words []string
		for _, word := range c.Argv {
			words = append(words, word.Text)
		}
		r.commands = append(r.commands, words)
	}
	if len(r.commands) == 0 {
		return nil, errors.New("there is no command in it")
	}
	return r, nil
}

// match is how far a rule is met.
type match int

const (
	no       match = iota
	possible       // if words that are not known turn out so
	yes
)

// words compares words with a rule's.
func words(rule []string, prefix bool, argv []shell.Word) match {
	if len(rule) == 0 {
		if prefix || len(argv) == 0 {
			return yes
		}
		return no
	}
	if rule[0] == "*" {
		best := no
		for i := 0; i <= len(argv); i++ {
			best = max(best, words(rule[1:], prefix, argv[i:]))
		}
		return best
	}
	if len(argv) == 0 {
		return no
	}
	if !argv[0].Known {
		if argv[0].Split { // it may be none, one or many
			return possible
		}
		return min(possible, words(rule[1:], prefix, argv[1:]))
	}
	if !wordMatches(rule[0], argv[0].Text, prefix && len(rule) == 1) {
		return no
	}
	return words(rule[1:], prefix, argv[1:])
}

// wordMatches compares one word. The last word of a prefix ends at the border of
// a word, and also where a path goes on beneath it, or the name of a task after
// a colon, since the rule's own "x:*" reads so.
func wordMatches(rule, word string, last bool) bool {
	if wildcard(rule, word) {
		return true
	}
	if !last || !strings.HasPrefix(word, rule) || strings.Contains(word, "..") {
		return false
	}
	next := word[len(rule)]
	return next == ':' || next == '/' && strings.Contains(rule, "/")
}

// wildcard compares with a pattern in which * is any text.
func wildcard(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	for _, part := range parts[1:last] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return ok && strings.HasSuffix(rest, parts[last])
}

// maxOptions bounds the options before a subcommand that are passed over.
const maxOptions = 100

// denies reports whether a deny or ask rule is met by a command: as it is written,
// by its base name, and with the options left out that stand before its
// subcommand.
func (r *shellRule) denies(c shell.Command) match {
	if len(r.commands) == 0 {
		return words(nil, r.prefix, c.Argv)
	}
	best := no
	if c.Hidden {
		best = possible
	}
	if len(c.Argv) == 0 {
		return best
	}
	if len(c.Argv) > maxOptions && strings.HasPrefix(c.Argv[maxOptions-1].Text, "-") {
		best = possible // a subcommand may come behind what is looked at
	}
	argv := slices.Clone(c.Argv)
	base := strings.TrimLeft(path.Base(argv[0].Text), `\`)
	for _, name := range slices.Compact([]string{argv[0].Text, base, shell.Name(base)}) {
		argv[0].Text = name
		for _, rule := range r.commands {
			best = max(best, words(rule, r.prefix, argv))
			for i := 1; i+1 < min(len(argv), maxOptions) && best < yes; i++ {
				if option := argv[i]; option.Known && !strings.HasPrefix(option.Text, "-") &&
					(i == 1 || !strings.HasPrefix(argv[i-1].Text, "-")) {
					break
				}
				best = max(best, words(rule, r.prefix, append(argv[:1:1], argv[i+1:]...)))
			}
		}
	}
	return best
}

// allows reports whether an allow rule of one command is met by a command.
func (r *shellRule) allows(c shell.Command, inside func(string) bool) bool {
	if len(c.Argv) == 0 || !c.Argv[0].Known {
		return false
	}
	if len(r.commands) == 0 {
		return r.prefix
	}
	if len(r.commands) > 1 {
		return false
	}
	if words(r.commands[0], r.prefix, c.Argv) == yes {
		return true
	}
	argv := c.Argv
	if argv[0].Text != "git" {
		return false
	}
	for len(argv) > 2 && argv[1].Known && (argv[1].Text == "--no-pager" || argv[1].Text == "-C" && argv[2].Known && inside(argv[2].Text)) {
		skip := 2
		if argv[1].Text == "-C" {
			skip = 3
		}
		argv = append(argv[:1:1], argv[skip:]...)
	}
	return words(r.commands[0], r.prefix, argv) == yes
}

// allowsAll reports whether a rule of several commands is met by the whole script.
func (r *shellRule) allowsAll(s *shell.Script) bool {
	if len(r.commands) < 2 || len(r.commands) != len(s.Commands) {
		return false
	}
	for i, c := range s.Commands {
		last := i == len(r.commands)-1
		if len(c.Assigns) > 0 || len(c.Redirs) > 0 || words(r.commands[i], r.prefix && last, c.Argv) != yes {
			return false
		}
	}
	return true
}

// mentions reports whether a text that cannot be read as a script has the first
// word of a rule: then a deny rule is taken to be met.
func (r *shellRule) mentions(text string) bool {
	if len(r.commands) == 0 {
		return r.prefix
	}
	return slices.ContainsFunc(r.commands, func(rule []string) bool {
		return len(rule) > 0 && strings.Contains(strings.NewReplacer(`\`, "", `"`, "", "'", "").Replace(text), strings.Trim(rule[0], "*"))
	})
}
