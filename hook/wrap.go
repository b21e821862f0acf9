package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/shell"
	"mvdan.cc/sh/v3/syntax"
)

// Wrapper puts a launcher before the commands of shell tools.
type Wrapper struct {
	Prefix []string // the launcher and its flags, up to and with "--"
}

// ErrNoCommand is the answer to a shell tool whose command cannot be found.
var ErrNoCommand = errors.New("the tool's input has no command that could be confined")

// Commands returns the commands of a shell tool's input, as text; what is behind
// the wrapper where it is there already. A command that is a list of words is
// returned as a text that gives these words.
func (w Wrapper) Commands(e Event) ([]string, error) {
	var commands []string
	_, err := w.each(e, func(text string, words []string) (any, error) {
		if words != nil {
			words, _ = w.cutWords(words)
			quoted := make([]string, len(words))
			for i, word := range words {
				var err error
				if quoted[i], err = Quote(word); err != nil {
					return nil, err
				}
			}
			commands = append(commands, strings.Join(quoted, " "))
			return nil, nil
		}
		if inner, ok := w.cut(text, e.shell()); ok {
			text = inner
		}
		commands = append(commands, text)
		return nil, nil
	})
	return commands, err
}

// Change returns the arguments of a shell tool with the wrapper before each command
// that it is not before already; none where there is nothing to change.
func (w Wrapper) Change(e Event) (map[string]json.RawMessage, error) {
	return w.each(e, func(text string, words []string) (any, error) {
		if words != nil {
			if _, ok := w.cutWords(words); ok {
				return nil, nil
			}
			return slices.Concat(w.Prefix, words), nil
		}
		if _, ok := w.cut(text, e.shell()); ok {
			return nil, nil
		}
		return w.wrap(text, e.shell())
	})
}

// each calls f with every command of the input; what f returns is its new value.
func (w Wrapper) each(e Event, f func(text string, words []string) (any, error)) (map[string]json.RawMessage, error) {
	var input map[string]json.RawMessage
	if err := json.Unmarshal(e.Input, &input); err != nil {
		return nil, err
	}
	found := false
	change := map[string]json.RawMessage{}
	for _, key := range []string{"command", "cmd"} {
		raw, ok := input[key]
		if !ok || string(raw) == "null" {
			continue
		}
		var text string
		var words []string
		if json.Unmarshal(raw, &text) != nil {
			if err := json.Unmarshal(raw, &words); err != nil || len(words) == 0 {
				return nil, ErrNoCommand
			}
		}
		found = true
		changed, err := f(text, words)
		if err != nil {
			return nil, err
		}
		if changed == nil {
			continue
		}
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(changed); err != nil {
			return nil, err
		}
		change[key] = bytes.TrimSpace(out.Bytes())
	}
	if !found {
		return nil, ErrNoCommand
	}
	return change, nil
}

// shell is how a harness has its commands run.
func (e Event) shell() []string {
	if e.Protocol == Codex {
		return []string{"bash", "-lc"}
	}
	return []string{"bash", "-c"}
}

func (w Wrapper) wrap(command string, sh []string) (string, error) {
	words := slices.Concat(w.Prefix, sh, []string{command})
	for i, word := range words {
		var err error
		if words[i], err = Quote(word); err != nil {
			return "", fmt.Errorf("the command cannot be quoted: %w", err)
		}
	}
	return strings.Join(words, " "), nil
}

// cut returns the command that wrap wrapped. A command that only begins with the
// launcher's name is none: it could go on after it, or ask it for less.
func (w Wrapper) cut(text string, sh []string) (command string, ok bool) {
	script, err := shell.Parse(text)
	if err != nil || len(script.Doubts) > 0 || len(script.Commands) == 0 {
		return "", false
	}
	argv := script.Commands[0].Argv
	if len(argv) == 0 {
		return "", false
	}
	command = argv[len(argv)-1].Text
	again, err := w.wrap(command, sh)
	return command, err == nil && again == text
}

func (w Wrapper) cutWords(words []string) ([]string, bool) {
	if len(words) > len(w.Prefix) && slices.Equal(words[:len(w.Prefix)], w.Prefix) {
		return words[len(w.Prefix):], true
	}
	return words, false
}

// Quote returns a word that every POSIX shell reads as s. A line end and a tab have
// no escape there, but may stand between quotes.
func Quote(s string) (string, error) {
	var out strings.Builder
	from := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '\n' && s[i] != '\t' {
			continue
		}
		if from < i || s == "" {
			quoted, err := syntax.Quote(s[from:i], syntax.LangPOSIX)
			if err != nil {
				return "", err
			}
			out.WriteString(quoted)
		}
		if i < len(s) {
			out.WriteString("'" + s[i:i+1] + "'")
		}
		from = i + 1
	}
	return out.String(), nil
}
