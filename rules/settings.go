package rules

import (
	"encoding/json"
	"fmt"
	"strings"
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
	if err := (strict{name: exactFields}).check(text); err != nil {
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

// fields are the names that settings has.
var fields = []string{"permissions", "deny", "ask", "alwaysAsk", "allow", "additionalDirectories", "mode", "defaultMode"}

// exactFields refuses a name in permissions that is there twice or in another case.
func exactFields(depth int, name string, twice bool) error {
	for _, field := range fields {
		if depth < 2 && strings.EqualFold(name, field) && (name != field || twice) {
			return fmt.Errorf("the name %q is there twice or in another case", name)
		}
	}
	return nil
}
