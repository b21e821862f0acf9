//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/policy"
)

const manDir = "../../docs/man/"

var (
	roffEscape = regexp.MustCompile(`\\f.|\\[(]..`)
	envName    = regexp.MustCompile(`"([A-Z][A-Z0-9]*(_[A-Z0-9]+)+)"`)
)

// manPage returns the tags (the line below each .TP and .TQ) by section, and the text,
// both without roff's quotes.
func manPage(t *testing.T, name string) (tags map[string][]string, text string) {
	t.Helper()
	data, err := os.ReadFile(manDir + name)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(roffEscape.ReplaceAllString(string(data), ""), `\-`, "-")
	tags = map[string][]string{}
	section, tag := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch name, ok := strings.CutPrefix(line, ".SH "); {
		case ok:
			section = name
		case tag:
			_, words, _ := strings.Cut(line, " ") // the macro
			tags[section] = append(tags[section], strings.TrimSpace(strings.ReplaceAll(words, `"`, "")))
		}
		tag = line == ".TP" || line == ".TQ"
	}
	return tags, text
}

// same says which of the words only one side has.
func same(t *testing.T, page, what string, got, want []string) {
	t.Helper()
	for _, word := range want {
		if !slices.Contains(got, word) {
			t.Errorf("%s does not describe the %s %q", page, what, word)
		}
	}
	for i, word := range got {
		if !slices.Contains(want, word) {
			t.Errorf("%s describes the %s %q, which is none", page, what, word)
		}
		if slices.Contains(got[:i], word) {
			t.Errorf("%s describes the %s %q twice", page, what, word)
		}
	}
}

func TestManPageNamesEveryFlag(t *testing.T) {
	const page = "letta-confine.1"
	tags, text := manPage(t, page)
	values := map[string]string{}
	var got []string
	for _, tag := range tags["FLAGS"] {
		name, value, _ := strings.Cut(tag, " ")
		got, values[name] = append(got, name), strings.TrimSpace(value)
	}
	want := []string{"--help"}
	for _, f := range flags {
		want = append(want, "--"+f.name)
		value, described := values["--"+f.name]
		if described && f.bool != (value == "") {
			t.Errorf("%s gives --%s the value %q; that it takes none is %v", page, f.name, value, f.bool)
		}
		if words := strings.Join(f.words(), "|"); described && words != "" && value != words {
			t.Errorf("%s gives --%s the words %q, want %q", page, f.name, value, words)
		}
	}
	same(t, page, "flag", got, want)
	_, rest, _ := strings.Cut(text, ".SH FLAGS") // a subcommand may have flags of its own
	for _, word := range flagWord.FindAllString(rest, -1) {
		if !slices.Contains(want, word) {
			t.Errorf("%s mentions %s, which is no flag", page, word)
		}
	}

	got = nil
	for _, tag := range tags["SUBCOMMANDS"] {
		word, _, _ := strings.Cut(tag, " ")
		got = append(got, word)
	}
	same(t, page, "subcommand", got, subcommands)
}

// What holds where a flag is not given is what the page says.
func TestManPageDefaults(t *testing.T) {
	_, text := manPage(t, "letta-confine.1")
	o := defaults()
	for name, want := range map[string]string{
		"max-siblings":   fmt.Sprintf("%d, if not given", o.maxSiblings),
		"answer-timeout": fmt.Sprintf("%.0fm, if not given", o.answerTimeout.Minutes()),
		"probe-timeout":  fmt.Sprintf("%v, if not given", o.probeTimeout),
	} {
		_, entry, _ := strings.Cut(text, ".BI --"+name+" ")
		entry, _, _ = strings.Cut(entry, ".TP")
		if !strings.Contains(entry, want) {
			t.Errorf("--%s is described as %q, want %q in it", name, entry, want)
		}
	}
}

// The variables with an underscore that the launcher's own sources name are the ones
// that the page names. Those that --scrub-env knows are in a file of their own.
func TestManPageNamesEveryVariable(t *testing.T) {
	const page = "letta-confine.1"
	tags, _ := manPage(t, page)
	var got []string
	for _, tag := range tags["ENVIRONMENT"] {
		for word := range strings.FieldsFuncSeq(tag, func(r rune) bool { return r == ' ' || r == ',' }) {
			if strings.Contains(word, "_") {
				got = append(got, word)
			}
		}
	}
	want := []string{"NO_COLOR"}
	for _, dir := range []string{".", "../../profile"} {
		for _, file := range sources(t, dir) {
			for _, m := range envName.FindAllStringSubmatch(file.text, -1) {
				want = append(want, m[1])
			}
		}
	}
	same(t, page, "variable", got, want)
}

type source struct{ name, text string }

// sources are the Go files of a package without its tests.
func sources(t *testing.T, dir string) []source {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []source
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(dir + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, source{name, string(text)})
		}
	}
	return list
}

// policyMembers are those that the reader of policy files takes: what the writer
// writes for a policy without roots.
func policyMembers(t *testing.T) []string {
	t.Helper()
	text, err := policy.Policy{}.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range members {
		names = append(names, name)
	}
	_, err = policy.Parse([]byte(`{"no-such-member":1}`))
	if hint := hintOf(err); len(strings.Split(hint, ", ")) != len(names) {
		t.Errorf("the reader says %q, and the writer writes %q", hint, names)
	}
	return names
}

func TestManPageNamesEveryMember(t *testing.T) {
	const page = "letta-confine-policy.5"
	tags, text := manPage(t, page)
	same(t, page, "member", tags["MEMBERS"], policyMembers(t))

	_, example, _ := strings.Cut(text, ".nf\n")
	example, _, _ = strings.Cut(example, ".fi\n")
	if _, err := policy.Parse([]byte(example)); err != nil {
		t.Errorf("the example of %s: %v", page, err)
	}
}

func TestManPagesAreWellFormed(t *testing.T) {
	pages, err := os.ReadDir(manDir)
	if err != nil || len(pages) != 3 {
		t.Fatalf("the man pages: %v, %v", pages, err)
	}
	need(t, "mandoc")
	for _, page := range pages {
		out, err := exec.Command("mandoc", "-T", "lint", "-W", "warning", manDir+page.Name()).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", page.Name(), err, out)
		}
	}
}
