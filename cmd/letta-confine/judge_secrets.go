//go:build !launcher

package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/letta-confine/letta-confine/internal/flagset"
	"github.com/letta-confine/letta-confine/secrets"
	"github.com/letta-confine/letta-confine/verdict"
)

const secretsUsage = `usage: letta-confine check secrets [flags] [file ...]

Looks for secrets in files, or in standard input.

  --text TEXT               look at TEXT instead
  --gitleaks-config FILE    add the rules of a gitleaks configuration
  --allow-list FILE         let pass what has one of these SHA-256 sums, one a line
  --json                    print JSON

exit status: 0 none; 2 a secret; 3 what may be one; 125 the check failed
`

// maxText bounds a text that is looked at.
const maxText = 64 << 20

// scannerFlags are the flags of every check that looks for secrets.
type scannerFlags struct{ gitleaks, allow string }

func (f *scannerFlags) add(set *flagset.Set) {
	set.StringVar(&f.gitleaks, "gitleaks-config")
	set.StringVar(&f.allow, "allow-list")
}

func (f *scannerFlags) scanner() (*secrets.Scanner, error) {
	s := secrets.New()
	if f.gitleaks != "" {
		config, err := readText(f.gitleaks)
		if err == nil {
			err = s.AddGitleaks(string(config))
		}
		if err != nil {
			return nil, fmt.Errorf("--gitleaks-config %q: %w", f.gitleaks, withoutPath(err))
		}
	}
	if f.allow != "" {
		list, err := readText(f.allow)
		if err != nil {
			return nil, fmt.Errorf("--allow-list %q: %w", f.allow, withoutPath(err))
		}
		for line := range strings.Lines(string(list)) {
			word, _, _ := strings.Cut(line, "#")
			if word = strings.TrimSpace(word); word == "" {
				continue
			}
			sum, err := hex.DecodeString(word)
			if err != nil || len(sum) != 32 {
				return nil, fmt.Errorf("--allow-list %q: a line that is no SHA-256", f.allow)
			}
			s.Allow([32]byte(sum))
		}
	}
	return s, nil
}

// withoutPath is an error without the path that the caller names itself.
func withoutPath(err error) error {
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return failed.Err
	}
	return err
}

func readText(path string) ([]byte, error) {
	if path == "-" {
		return readAllOf(os.Stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAllOf(file)
}

func readAllOf(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("it has more than %d bytes", maxText)
	}
	return text, err
}

// parseKind reads the flags of one kind of check.
func parseKind(set *flagset.Set, help string, args []string) (done bool, err error) {
	switch err := set.Parse(args); {
	case errors.Is(err, flagset.ErrHelp):
		fmt.Print(help)
		return true, nil
	case err != nil && len(secrets.New().Scan("", []byte(err.Error()))) > 0:
		return true, errors.New("a text that looks like a secret stands where a flag does")
	case err != nil:
		return true, withHint(err, "see letta-confine check "+set.Name+" --help")
	}
	return false, nil
}

// fileFinding is a finding and the file that it is in.
type fileFinding struct {
	Path string `json:"path"`
	secrets.Finding
}

func checkSecrets(args []string) (int, error) {
	set := &flagset.Set{Name: "secrets", Interspersed: true}
	var given scannerFlags
	given.add(set)
	var text string
	set.StringVar(&text, "text")
	var asJSON bool
	set.BoolVar(&asJSON, "json")
	if done, err := parseKind(set, secretsUsage, args); done || err != nil {
		return 0, err
	}
	files := set.Args()
	switch {
	case set.Changed("text") && len(files) > 0:
		return 0, errors.New("--text and files contradict each other")
	case len(files) == 0:
		files = []string{"-"}
	}
	scanner, err := given.scanner()
	if err != nil {
		return 0, err
	}
	found := []fileFinding{}
	for _, path := range files {
		data := []byte(text)
		if !set.Changed("text") {
			// A text in the place of a file's name is a mistake, but if it is a
			// secret that is what to say, and not its name again in an error.
			if data, err = readText(path); err != nil && len(scanner.Scan(path, nil)) == 0 {
				return 0, withHint(fmt.Errorf("%q: %w", path, withoutPath(err)), "a text is given as --text TEXT or on standard input")
			}
		}
		name := path
		if path == "-" {
			name = ""
		}
		printed := name
		if len(scanner.Scan("", []byte(name))) > 0 {
			printed = ""
		}
		for _, f := range scanner.Scan(name, data) {
			found = append(found, fileFinding{printed, f})
		}
	}
	v := verdict.Verdict{Decision: verdict.Allow, Code: "no-secret", Reason: "nothing looks like a secret"}
	var lines []string
	for _, f := range found {
		v = v.Stricter(verdict.Verdict{Decision: f.Decision, Code: "secret", Reason: "looks like a secret: " + f.Kind, Rule: f.Kind})
		lines = append(lines, findingLine(f.Decision, f.Path, f.Line, f.Column, "looks like a secret: "+f.Kind))
	}
	return v.Decision.Status(), answer(asJSON, v, found, lines)
}

// findingLine is a finding for a person.
func findingLine(d verdict.Decision, path string, line, column int, reason string) string {
	where := ""
	switch {
	case path != "" && line > 0:
		where = fmt.Sprintf("%s:%d:%d: ", shown(path), line, column)
	case path != "":
		where = shown(path) + ": "
	case line > 0:
		where = fmt.Sprintf("%d:%d: ", line, column)
	default:
		where = "a name that is not shown: "
	}
	return d.String() + ": " + where + reason
}

// shown is a path as it can be printed: in quotes where it holds anything that a
// terminal would obey.
func shown(path string) string {
	if quoted := fmt.Sprintf("%q", path); quoted != `"`+path+`"` {
		return quoted
	}
	return path
}

// answer prints a verdict and what led to it.
func answer[T any](asJSON bool, v verdict.Verdict, found []T, lines []string) error {
	out := bufio.NewWriter(os.Stdout)
	if !asJSON {
		for _, line := range lines {
			fmt.Fprintln(out, line)
		}
		if len(lines) == 0 {
			fmt.Fprintln(out, v.Decision.String()+": "+v.Reason)
		}
		return out.Flush()
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Schema int `json:"schema"`
		verdict.Verdict
		Findings []T `json:"findings"`
	}{verdict.Schema, v, found})
	if err != nil {
		return err
	}
	if _, err := text.WriteTo(out); err != nil {
		return err
	}
	return out.Flush()
}
