package readonly

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/verdict"
)

// plainHost is a host without links where every directory is in a repository that
// names no program.
type plainHost struct{}

func (plainHost) Real(name string) (string, error) { return path.Clean(name), nil }
func (plainHost) Glob(string) ([]string, error)    { return nil, nil }
func (plainHost) Exists(name string) bool          { return strings.HasSuffix(name, "/.git") }
func (plainHost) Escapes(string) bool              { return false }
func (plainHost) ReadFile(string) ([]byte, error)  { return nil, fs.ErrNotExist }

// deviations are the rows where the answer is another than letta-code's, as
// docs/decisions/0014-letta-facts.md lists and explains them.
func deviations(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/decisions/0014-letta-facts.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, word := range strings.FieldsFunc(string(text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }) {
		out[word] = true
	}
	return out
}

// TestConformance runs the facts of letta-code's own tests, which stay where they
// are: CONFINE_CASES names the directory.
func TestConformance(t *testing.T) {
	dir := os.Getenv("CONFINE_CASES")
	if dir == "" {
		t.Skip("needs CONFINE_CASES, the directory of the facts (make conformance CASES=DIR)")
	}
	differs, count := deviations(t), 0
	for _, row := range rows(t, filepath.Join(dir, "letta", "readonly.tsv")) {
		if row["check"] != "read-only" {
			continue // what is allowed in a memory directory is the policy's to say
		}
		var context struct {
			AllowExternalPaths bool
			AllowedPathRoots   []string
		}
		if err := json.Unmarshal([]byte(row["context_json"]), &context); err != nil {
			t.Fatal(err)
		}
		src, ok := commandText(t, row["command_json"])
		got := verdict.Ask
		if ok {
			if s, err := (shell.Options{Vars: map[string]string{"HOME": "/Users/test"}}).Parse(src); err == nil {
				j := &Judge{Cwd: "/Users/test/project", Home: "/Users/test", Roots: append(context.AllowedPathRoots, "/Users/test/project"), AnyRoot: context.AllowExternalPaths, Facts: plainHost{}}
				got = Whole(s, j.Script(s)).Decision
			}
		}
		count++
		if agrees := (got == verdict.Allow) == (row["expected"] == "yes"); agrees == differs[row["id"]] {
			t.Errorf("%s: %q is %v, letta-code says read-only: %s, listed as a deviation: %v", row["id"], src, got, row["expected"], differs[row["id"]])
		}
	}
	t.Logf("%d facts", count)
}

// commandText is a command as a string; as a list of words it is quoted.
func commandText(t *testing.T, cell string) (string, bool) {
	t.Helper()
	var one string
	if json.Unmarshal([]byte(cell), &one) == nil {
		return one, true
	}
	var many []string
	if err := json.Unmarshal([]byte(cell), &many); err != nil {
		t.Fatal(err)
	}
	for i := range many {
		many[i] = "'" + strings.ReplaceAll(many[i], "'", `'\''`) + "'"
	}
	return strings.Join(many, " "), len(many) > 0
}
