package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// settings is the part of a settings file that is about permissions, as letta-code
// and Claude Code spell it.
type settings struct {
	Permissions struct {
		Deny                  []string
		Ask                   []string
		AlwaysAsk             []string
		Allow                 []string
		AdditionalDirectories []string
		Mode                  string
		DefaultMode           string
	}
}

// AddSettings adds the rules of a settings file. project is the directory that the
// file belongs to. A file that does not parse is an error: its deny rules would be
// lost.
func (s *Set) AddSettings(text []byte, project string) error {
	if err := unique(text); err != nil {
		return err
	}
	var read settings
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	p := read.Permissions
	for list, texts := range map[List][]string{Deny: p.Deny, Ask: p.Ask, AlwaysAsk: p.AlwaysAsk, Allow: p.Allow} {
		if err := s.Add(list, project, texts...); err != nil {
			return err
		}
	}
	s.Directories = append(s.Directories, p.AdditionalDirectories...)
	for _, name := range []string{p.DefaultMode, p.Mode} {
		if name == "" {
			continue
		}
		if err := s.SetMode(name); err != nil {
			return err
		}
	}
	return nil
}

// fields are the names that settings has. encoding/json takes them in any case and
// keeps the last of two: a second, empty list of deny rules would hide the first.
var fields = []string{"permissions", "deny", "ask", "alwaysAsk", "allow", "additionalDirectories", "mode", "defaultMode"}

// unique refuses a name in permissions that is there twice or in another case,
// and a text that goes on after the value.
func unique(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := uniqueIn(d, 0); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	return nil
}

func uniqueIn(d *json.Decoder, depth int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if depth == 0 && t != json.Delim('{') {
		return errors.New("want an object")
	}
	switch t {
	case json.Delim('['):
		for d.More() {
			if err := uniqueIn(d, depth+1); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return err
			}
			key, _ := name.(string)
			for _, field := range fields {
				if depth < 2 && bytes.EqualFold([]byte(key), []byte(field)) && (key != field || seen[key]) {
					return fmt.Errorf("the name %q is there twice or in another case", key)
				}
			}
			seen[key] = true
			if err := uniqueIn(d, depth+1); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = d.Token()
	return err
}
