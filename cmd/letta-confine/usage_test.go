//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// documentedOnly are words of the usage that look like flags and are none.
var documentedOnly = []string{"help"}

// unlisted are flags that the usage need not name: the parser's own.
var unlisted = []string{"help"}

var flagWord = regexp.MustCompile(`--[a-z][a-z-]*`)

// flagLine is where the usage describes a flag: "  --name VALUE  text". Several may
// stand on one line, each after two blanks.
var flagLine = regexp.MustCompile(`  --([a-z][a-z-]*)([ =]\S+)?`)

// helpTexts are all that --help prints, by the word before it. A flag is described in
// one of them, whether every subcommand takes it or only one has a use for it.
var helpTexts = map[string]string{"": usage, "plan": planUsage, "explain": explainUsage, "probe": probeUsage, "doctor": probeUsage}

// describing is all texts, each once.
var describing = usage + planUsage + explainUsage + probeUsage

func TestUsageNamesEveryFlag(t *testing.T) {
	described := map[string]string{} // the value's name, by flag
	for _, m := range flagLine.FindAllStringSubmatch(describing, -1) {
		if _, twice := described[m[1]]; twice {
			t.Errorf("usage describes --%s twice", m[1])
		}
		described[m[1]] = strings.TrimSpace(m[2])
	}
	seen := map[string]bool{}
	for _, f := range slices.Concat(flags, planFlags) {
		if seen[f.name] {
			t.Errorf("flags holds --%s twice", f.name)
		}
		seen[f.name] = true
		value, ok := described[f.name]
		switch {
		case !ok && !slices.Contains(unlisted, f.name):
			t.Errorf("usage has no line for --%s", f.name)
		case ok && f.bool != (value == ""):
			t.Errorf("usage gives --%s the value %q; that it takes none is %v", f.name, value, f.bool)
		}
	}
	for name := range described {
		if !seen[name] {
			t.Errorf("usage describes --%s, which is no flag", name)
		}
	}
	for _, word := range flagWord.FindAllString(describing, -1) {
		name := word[2:]
		if !seen[name] && !slices.Contains(documentedOnly, name) {
			t.Errorf("usage mentions %s, which is no flag", word)
		}
	}
}

// The values that the usage lists, "a|b|c", are those that the flag takes.
func TestUsageNamesEveryValue(t *testing.T) {
	for _, m := range flagLine.FindAllStringSubmatch(describing, -1) {
		name, value := m[1], strings.TrimSpace(m[2])
		if !strings.Contains(value, "|") || strings.ContainsAny(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			continue
		}
		for word := range strings.SplitSeq(value, "|") {
			if _, err := parse([]string{"--" + name, word, "--", "true"}); err != nil {
				t.Errorf("parse(--%s %s) = %v, and usage offers it", name, word, err)
			}
		}
		_, err := parse([]string{"--" + name, "no-such-word", "--", "true"})
		if err == nil {
			t.Errorf("parse(--%s no-such-word) = nil", name)
			continue
		}
		if want := "want " + strings.ReplaceAll(value, "|", ", "); !strings.HasSuffix(err.Error(), want) {
			t.Errorf("parse(--%s no-such-word) = %q, want it to end in %q", name, err, want)
		}
	}
}

// parse takes every flag of the table, in both spellings of its value.
func TestParseTakesEveryFlag(t *testing.T) {
	values := map[string]string{ // what a flag takes that does not take a path
		"caches": "host", "backend": "landlock", "prefer": "fast", "require": "any", "on-unavailable": "run",
		"missing-denied": "refuse", "error-format": "json", "tmp": "private", "layout": "letta", "profile": "workspace", "default-mode": "read-only", "mode": "read-only", "preset": "read-only", "max-siblings": "7", "keep-fd": "3", "for": "write", "probe-timeout": "9s", "annotate": "github",
		"approval": "never", "answer-timeout": "9s", "widen": "workspace-write",
	}
	for _, f := range flags {
		value := values[f.name]
		if value == "" {
			value = "/path"
		}
		spellings := [][]string{{"--" + f.name, value}, {"--" + f.name + "=" + value}}
		if f.bool {
			spellings = [][]string{{"--" + f.name}, {"--" + f.name + "=true"}, {"--" + f.name + "=false"}}
		}
		for _, words := range spellings {
			o, err := parse(append(words, "--", "command", "--quiet"))
			if err != nil {
				t.Errorf("parse(%q) = %v", words, err)
				continue
			}
			if want := []string{"command", "--quiet"}; !slices.Equal(o.args, want) || o.bareWord {
				t.Errorf("parse(%q) leaves %q, want %q", words, o.args, want)
			}
		}
	}
}

// What the help says of a default is the default.
func TestAnswerTimeout(t *testing.T) {
	for want, words := range map[time.Duration][]string{5 * time.Minute: nil, 9 * time.Second: {"--answer-timeout", "9s"}} {
		if o, err := parse(words); err != nil || o.answerTimeout != want {
			t.Errorf("parse(%q) gives an answerer %v, %v, want %v", words, o.answerTimeout, err, want)
		}
	}
	if !strings.Contains(usage, "--answer-timeout 5m ") {
		t.Error("the help says another --answer-timeout")
	}
}

func TestUsageIsShort(t *testing.T) {
	for word, text := range helpTexts {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		most := 20
		if word == "" {
			most = 60
		}
		if len(lines) > most {
			t.Errorf("%s --help has %d lines, want %d at most", word, len(lines), most)
		}
		for i, line := range lines {
			if len(line) > 80 {
				t.Errorf("line %d of %s --help has %d columns, want 80 at most", i+1, word, len(line))
			}
			if strings.TrimRight(line, " \t") != line || strings.Contains(line, "\t") {
				t.Errorf("line %d of %s --help has a tab or ends in a blank", i+1, word)
			}
		}
	}
}

// The usage ends in two examples, which run as they are written.
func TestUsageExamples(t *testing.T) {
	need(t, "bwrap")
	_, text, ok := strings.Cut(usage, "\nexamples:\n")
	if !ok {
		t.Fatal("usage has no examples")
	}
	examples := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(examples) != 2 {
		t.Errorf("usage has %d examples, want 2", len(examples))
	}
	home := t.TempDir()
	work := filepath.Join(home, "work")
	for _, dir := range []string{work, filepath.Join(home, ".ssh"), filepath.Join(home, "bin"), filepath.Join(home, "tmp")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// The examples must not need what this host may lack.
	if err := os.WriteFile(filepath.Join(home, "bin", "make"), []byte("#!/bin/sh\necho make \"$@\" >made\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		run := exec.Command("/bin/sh", "-c", example)
		run.Dir = work
		run.Env = []string{
			"HOME=" + home, "TMPDIR=" + filepath.Join(home, "tmp"),
			"PATH=" + filepath.Dir(launcher(t)) + ":" + filepath.Join(home, "bin") + ":/usr/bin:/bin",
		}
		var stderr strings.Builder
		run.Stderr = &stderr
		if err := run.Run(); err != nil || stderr.Len() > 0 {
			t.Errorf("%s: %v\n%s", strings.TrimSpace(example), err, &stderr)
		}
	}
	if made, err := os.ReadFile(filepath.Join(work, "made")); err != nil || string(made) != "make test\n" {
		t.Errorf("the first example wrote %q, %v", made, err)
	}
}

// What --help prints is the constant.
func TestHelpPrintsUsage(t *testing.T) {
	for word, want := range helpTexts {
		args := append(strings.Fields(word), "--help")
		out, err := exec.Command(launcher(t), args...).Output()
		if err != nil || string(out) != want {
			t.Errorf("%q prints %q, %v, want its usage", args, out, err)
		}
	}
}
