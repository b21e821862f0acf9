//go:build linux

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// docs/DESIGN.md says of each package what it knows, and of each dependency what it
// is for.
func TestDesignNamesEveryPackage(t *testing.T) {
	design, err := os.ReadFile("../../docs/DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("go", "list", "-f", "{{.ImportPath}}", "./...")
	list.Dir = "../.."
	packages, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	module := regexp.MustCompile(`(?m)^module (.*)$`).FindStringSubmatch(string(mod))[1]
	var names []string
	for path := range strings.FieldsSeq(string(packages)) {
		names = append(names, strings.TrimPrefix(path, module+"/"))
	}
	version := regexp.MustCompile(`/v[0-9]+$`)
	for line := range strings.Lines(string(mod)) {
		if fields := strings.Fields(line); len(fields) == 2 && strings.HasPrefix(line, "\t") { // a third word is "// indirect"
			path := strings.Split(version.ReplaceAllString(fields[0], ""), "/")
			names = append(names, path[len(path)-1])
		}
	}
	if len(names) < 30 {
		t.Errorf("found only %q", names)
	}
	for _, name := range names {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).Match(design) {
			t.Errorf("docs/DESIGN.md does not speak of %s", name)
		}
	}
}

// The words that plan and the report have for what a backend leaves open, refuses
// besides or cannot do are explained in docs/limits.md.
func TestLimitsExplainEveryWord(t *testing.T) {
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`(?:Gap += |(?:OverDenial|\t)\{Name: |imits, |over :?= )"([a-z-]+)"|range \[\]string\{("[a-z-]+"(?:, "[a-z-]+")*)\} \{\n\t\te\.OverDenials`)
	words := map[string]bool{}
	for _, dir := range []string{".", "../../policy", "../../bwrap", "../../landlock", "../../seatbelt", "../../confine"} {
		for _, src := range sources(t, dir) {
			for _, m := range said.FindAllStringSubmatch(src.text, -1) {
				for word := range strings.SplitSeq(m[1]+m[2], ", ") {
					words[strings.Trim(word, `"`)] = true
				}
			}
		}
	}
	if len(words) < 30 || !words["setuid-programs"] || !words["names"] || !words["extend"] || !words["unsupervised"] {
		t.Errorf("found only %v: the pattern is out of date", words)
	}
	for word := range words {
		if !strings.Contains(string(page), "`"+word+"`") {
			t.Errorf("docs/limits.md does not explain the word %s", word)
		}
	}
}
