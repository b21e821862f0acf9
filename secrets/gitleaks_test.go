package secrets

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/verdict"
)

const gitleaksConfig = `
title = "mine" # a comment
[extend]
useDefault = true

[allowlist]
description = "not obeyed"
paths = ['''.*''']

[[rules]]
id = "acme-token"
description = "ACME \"tokens\""
regex = '''acme_([a-f0-9]{8})'''
secretGroup = 1
entropy = 2.0
keywords = [
  "ACME_", # upper case
]
tags = ["a", 'b',]
[[rules.allowlists]]
regexes = ["acme_.*"]

[[rules]]
id = "block"
regex = """start\\s+of
secret"""

[[rules]]
id = "key-file"
path = '''\.p12$'''
`

func TestGitleaks(t *testing.T) {
	s := New()
	if err := s.AddGitleaks(gitleaksConfig); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, text, kind string }{
		{"", "an acme_0123abcd token", "acme-token"},
		{"", "acme_00000000", ""},
		{"", "start  of\nsecret", "block"},
		{"a/b.p12", "", "key-file"},
		{"a/b.txt", "", ""},
		{"", "sk-" + strings.Repeat("a1B2", 6), "openai-key"},
	} {
		found := s.Scan(c.path, []byte(c.text))
		if c.kind == "" && len(found) == 0 {
			continue
		}
		if len(found) != 1 || found[0].Kind != c.kind || found[0].Decision != verdict.Deny {
			t.Errorf("%q %q gives %+v, want %q", c.path, c.text, found, c.kind)
		}
	}
}

// TestGitleaksRefuses: what is not known is an error, and adds nothing.
func TestGitleaksRefuses(t *testing.T) {
	const good = "[[rules]]\nid = \"a\"\nregex = 'b'\n"
	if err := New().AddGitleaks(good); err != nil {
		t.Fatal(err)
	}
	for _, config := range []string{
		"", "title = 'no rules'", good + "colour = 'red'", good + "[unknown]", good + "[[extend]]", "[rules]\nid='a'\nregex='b'",
		good + "regex = 'twice'", good + "[extend]\npath = 'other.toml'", good + "[extend]\nurl = 'https://host'",
		"[[rules]]\nid = 'a'", "[[rules]]\nregex = 'a'", "[[rules]]\nid = 'a'\nregex = '('", "[[rules]]\nid = 'a'\nregex = '(?=a)'",
		"[[rules]]\nid = 'a'\nregex = 3", good + "secretGroup = 1", good + "secretGroup = 0.5", good + "keywords = ['']", good + "keywords = 'a'",
		good + "keywords = ['a' 'b']", good + "tags = ['a'", good + "x", good + "entropy = -1", good + "entropy = inf", good + "entropy = 3 4",
		"[[rules]]\nid = \"a\\q\"", "[[rules]]\nid = \"a", "[[rules]]\nid = '''a", "[[rules]\nid = 'a'", "[[rules]]\nid = 'a\nb'", good + "a.b = 1",
		good + "tags = { a = 1 }", good + "[[rules.required]]\nid = 'x'", good + "skipReport = true",
	} {
		s := New()
		if err := s.AddGitleaks(config); err == nil {
			t.Errorf("%q is taken", config)
		}
		if len(s.rules) != len(builtinRules()) {
			t.Errorf("%q adds rules", config)
		}
	}
}

// FuzzTOML: no text makes the reader panic or run on.
func FuzzTOML(f *testing.F) {
	f.Add(gitleaksConfig)
	f.Add("a = \"\\u00e9\\U0001F600\"\nb = ''''x'''''\nc = [\"\"\"d\"\"\",]")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parseTOML(text) })
}
