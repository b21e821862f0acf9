package rules

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plainHost is a host without links where every directory is in a repository that
// names no program.
type plainHost struct{}

func (plainHost) Real(name string) (string, error) { return path.Clean(name), nil }
func (plainHost) Glob(string) ([]string, error)    { return nil, nil }
func (plainHost) Exists(name string) bool          { return strings.HasSuffix(name, "/.git") }
func (plainHost) Escapes(string) bool              { return false }
func (plainHost) ReadFile(string) ([]byte, error)  { return nil, fs.ErrNotExist }

// cases is the directory of the facts of letta-code's own tests, which stay where
// they are, and the rows where the answer is another: docs/decisions lists and
// explains them.
func cases(t *testing.T) (string, func(id string) bool) {
	t.Helper()
	dir := os.Getenv("CONFINE_CASES")
	if dir == "" {
		t.Skip("needs CONFINE_CASES, the directory of the facts (make conformance CASES=DIR)")
	}
	text, err := os.ReadFile("../docs/decisions/0014-letta-facts.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.FieldsFunc(string(text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	return filepath.Join(dir, "letta"), func(id string) bool { return slices.Contains(words, id) }
}

func decode(t *testing.T, cell string, into any) {
	t.Helper()
	cell = strings.NewReplacer("{HOME}", home, "{TMP}", "/tmp/t").Replace(cell)
	if err := json.Unmarshal([]byte(cell), into); err != nil {
		t.Fatalf("%s: %v", cell, err)
	}
}

func TestConformanceOfRules(t *testing.T) {
	dir, differs := cases(t)
	for _, row := range rows(t, filepath.Join(dir, "rules.tsv")) {
		var text string
		decode(t, row["rule_json"], &text)
		r, err := ParseRule(text)
		got := false
		if err == nil && !strings.HasPrefix(row["kind"], "decision") {
			var about string
			decode(t, row["input_json"], &about)
			s := &Set{Home: home, Facts: plainHost{}}
			call := ToolCall{Tool: row["tool"], Input: Argument(row["tool"], about), Cwd: row["cwd"]}
			if call.Cwd == "" {
				call.Cwd = project
			}
			got = s.about(call).meets(r) == yes
		} else if err == nil {
			continue // decisions.tsv has them as decisions
		}
		if agrees := got == (row["expected"] == "yes"); agrees == differs(row["id"]) {
			t.Errorf("%s: %s against %s %s: %v (%v), letta-code says %s, listed as a deviation: %v", row["id"], text, row["tool"], row["input_json"], got, err, row["expected"], differs(row["id"]))
		}
	}
}

func TestConformanceOfDecisions(t *testing.T) {
	dir, differs := cases(t)
	for _, row := range rows(t, filepath.Join(dir, "decisions.tsv")) {
		if strings.Contains(row["matched_rule"], "guard") || row["matched_rule"] == "workspace sandbox" {
			continue // package guard has them
		}
		var given struct {
			Allow, Ask, AlwaysAsk, Deny, AdditionalDirectories []string
		}
		var session struct{ Allow, AlwaysAsk, Deny []string }
		var flags struct{ Allowed, Disallowed []string }
		call := ToolCall{Tool: row["tool"], Cwd: row["cwd"]}
		decode(t, row["rules_json"], &given)
		decode(t, row["session_json"], &session)
		decode(t, row["cli_json"], &flags)
		decode(t, row["args_json"], &call.Input)
		s := &Set{Home: home, Facts: plainHost{}, Directories: given.AdditionalDirectories, LettaAsk: true}
		for list, texts := range map[List][]string{
			Deny: append(given.Deny, flags.Disallowed...), Ask: given.Ask, AlwaysAsk: append(given.AlwaysAsk, session.AlwaysAsk...),
			Allow: slices.Concat(given.Allow, flags.Allowed, session.Allow),
		} {
			if err := s.Add(list, project, texts...); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.SetMode(row["mode"]); err != nil {
			t.Fatal(err)
		}
		got := Judge(call, s, nil)
		want := strings.Replace(row["decision"], "alwaysAsk", "ask", 1)
		if agrees := got.Decision.String() == want; agrees == differs(row["id"]) {
			t.Errorf("%s: %s %s with %s %s in mode %s: %v (%s), letta-code says %s, listed as a deviation: %v", row["id"], row["tool"], row["args_json"],
				row["rules_json"], row["cli_json"], row["mode"], got.Decision, got.Reason, want, differs(row["id"]))
		}
	}
}

func TestConformanceOfNames(t *testing.T) {
	dir, differs := cases(t)
	for _, row := range rows(t, filepath.Join(dir, "normalize.tsv")) {
		var in []string
		var want any
		got := ""
		switch row["function"] {
		case "migratePermissionMode":
			decode(t, row["input_json"], &in)
			got, _ = mode(in[0])
		case "normalizePermissionRule":
			decode(t, row["input_json"], &in)
			if r, err := ParseRule(in[0]); err == nil {
				got = r.Normal()
			}
		default:
			continue // internal functions of letta-code's own
		}
		decode(t, row["output_json"], &want)
		text, _ := want.(string)
		if agrees := got == text; agrees == differs(row["id"]) {
			t.Errorf("%s: %s of %v is %q, letta-code says %q, listed as a deviation: %v", row["id"], row["function"], in, got, text, differs(row["id"]))
		}
	}
}
