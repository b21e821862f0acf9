package secrets

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/verdict"
)

//go:embed testdata/kinds.tsv
var kinds string

// sample writes a random text that re matches. Nothing here is a secret, and no
// whole one stands in this file, so that scanners let the repository pass.
func sample(b *strings.Builder, re *syntax.Regexp, rng *rand.Rand) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		var printable []rune
		for c := rune(' '); c < 0x7f; c++ {
			for i := 0; i < len(re.Rune); i += 2 {
				if re.Rune[i] <= c && c <= re.Rune[i+1] {
					printable = append(printable, c)
				}
			}
		}
		b.WriteRune(printable[rng.IntN(len(printable))])
	case syntax.OpAnyCharNotNL:
		b.WriteByte("abc XYZ09-"[rng.IntN(10)])
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			sample(b, sub, rng)
		}
	case syntax.OpAlternate:
		sample(b, re.Sub[rng.IntN(len(re.Sub))], rng)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		from, to := re.Min, re.Max
		switch re.Op {
		case syntax.OpStar:
			from, to = 0, 3
		case syntax.OpPlus:
			from, to = 1, 4
		case syntax.OpQuest:
			from, to = 0, 1
		}
		if to < 0 {
			to = from + 5
		}
		for range from + rng.IntN(to-from+1) {
			sample(b, re.Sub[0], rng)
		}
	}
}

func sampleOf(t *testing.T, pattern string, rng *rand.Rand) string {
	t.Helper()
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var b strings.Builder
		sample(&b, parsed, rng)
		if regexp.MustCompile(pattern).MatchString(b.String()) {
			return b.String()
		}
	}
}

func strictest(found []Finding) verdict.Decision {
	d := verdict.Allow
	for _, f := range found {
		d = max(d, f.Decision)
	}
	return d
}

// TestKinds: what matches a pattern of the table is found, whatever stands around
// it, and is denied unless it is one of those that only warn.
func TestKinds(t *testing.T) {
	asks := []string{"aws-access-key-id", "aws-secret-assignment", "jwt", "generic-assignment"}
	rng := rand.New(rand.NewPCG(1, 2))
	rows := strings.Split(strings.TrimSpace(kinds), "\n")[1:]
	if len(rows) != 27 {
		t.Fatalf("%d kinds, want 27", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(row, "\t")
		kind, pattern := cells[0], cells[1]
		missed := 0
		for range 100 {
			text := sampleOf(t, pattern, rng)
			found := New().Scan("", []byte("é first\nbefore "+text+" after\n"))
			if len(found) == 0 {
				missed++
				if kind != "generic-assignment" { // whose value may be no more than a word
					t.Errorf("%s: nothing found in %q", kind, text)
				}
				continue
			}
			want := verdict.Deny
			if slices.Contains(asks, kind) {
				want = verdict.Ask
			}
			if kind == "stripe-key" && strings.Contains(text, "k_test_") {
				want = verdict.Ask
			}
			if got := strictest(found); got < want || found[0].Line != 2 || found[0].Column < 8 {
				t.Errorf("%s: %q gives %+v, want %v in line 2", kind, text, found, want)
			}
			if found[0].Kind != kind && !strings.Contains(text, "sk-") && want == verdict.Deny && kind != "url-password" {
				t.Errorf("%s: %q is taken for %s", kind, text, found[0].Kind)
			}
		}
		if missed > 60 {
			t.Errorf("%s: %d of 100 missed", kind, missed)
		}
	}
}

// TestAnywhere: three patterns need no word boundary.
func TestAnywhere(t *testing.T) {
	for _, text := range []string{
		"task" + "xsk-" + strings.Repeat("a1B2", 5), "_ghp_" + strings.Repeat("Zz09", 9) + "_more",
		"x-----BEGIN any thing, PRIVATE " + "KEY-----", "-----BEGIN " + "PRIVATE KEY-----", "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----",
	} {
		if found := New().Scan("", []byte("ä"+text+"ö")); strictest(found) != verdict.Deny {
			t.Errorf("%q gives %v", text, found)
		}
	}
}

// TestPasses: placeholders are no secrets, and ordinary text holds none.
func TestPasses(t *testing.T) {
	x := strings.Repeat("x", 40)
	for _, text := range []string{
		"", "sk-" + x, "sk-proj-" + x, "sk-ant-api03-" + x, "ghp_" + x, "https://user:$PASSWORD@host/", "https://user:${db_pass}@host/",
		"https://user:<password>@host", "https://user:***@host", "https://user:xxx@host", "https://user:password@host",
		"https://host:8080/:a@b", "at 10:30 c://:x",
		"Authorization: Bearer $TOKEN", "Authorization: Bearer ${TOKEN}", "Authorization: Bearer <your token here>",
		"api_key = <your-api-key-goes-here>", "api_key: ${SOME_API_KEY_VARIABLE}", "token: getTokenFromEnvironment()",
		"secret = your-secret-goes-here-1234", "password: aaaaaaaaaaaaaaaaaaaa1", "a key, a secret and a token walk into a bar",
		"the task-list and disk-usage", "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad", "https://host:8080/a@b", "-----BEGIN CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEm me@host",
	} {
		if found := New().Scan("", []byte(text)); len(found) > 0 {
			t.Errorf("%q gives %+v", text, found)
		}
	}
}

// TestStillFound: what looks like a way past the placeholders is none.
func TestStillFound(t *testing.T) {
	key := "sk-" + strings.Repeat("a1B2", 6)
	utf16 := strings.ReplaceAll(key, "", "\x00")
	for _, text := range []string{
		"<" + key + ">", "${" + key + "}", "$" + key, "sk-" + strings.Repeat("x", 20) + " " + key, "sk-" + strings.Repeat("x", 20) + "a1B2",
		utf16, "https://user:$PASS" + "word!9@host", "https://u:${x}y" + "z@h", strings.Repeat("x", 100_000) + key, "a\r\n" + key,
		"redis://:S3cr3t" + "Pass@h:6379", "HTTPS://u:S3cr3t" + "Pass@h", "https://u:mail." + "example@h",
	} {
		if found := New().Scan("", []byte(text)); strictest(found) != verdict.Deny {
			t.Errorf("%q gives %+v", text, found)
		}
	}
	if found := New().Scan("notes/"+key+".md", nil); strictest(found) != verdict.Deny || found[0].Line != 0 {
		t.Errorf("a secret as a file's name gives %+v", found)
	}
	if found := New().Scan("", []byte("api_key:\n  \"a8f5f167f44f4964e6c998dee827110c\"")); strictest(found) != verdict.Ask {
		t.Errorf("a value below its name gives %+v", found)
	}
	if found := New().Scan("", []byte(`"SecretAccessKey": "`+strings.Repeat("a1/B2", 8)+`"`)); strictest(found) != verdict.Ask {
		t.Errorf("what aws prints of a new key gives %+v", found)
	}
}

// TestAllow: a match passes by its hash, and only that one.
func TestAllow(t *testing.T) {
	key, other := "sk-"+strings.Repeat("a1B2", 6), "sk-"+strings.Repeat("a1B3", 6)
	s := New()
	s.Allow(sha256.Sum256([]byte(key)))
	if found := s.Scan("", []byte(key)); len(found) > 0 {
		t.Errorf("the allowed one gives %+v", found)
	}
	if found := s.Scan("", []byte(key+"\n"+other+"\n"+key+"x")); len(found) != 2 {
		t.Errorf("others give %+v, want 2", found)
	}
}

// TestSum: the sums are those of crypto/sha256, at every length about a block's end.
func TestSum(t *testing.T) {
	for n := range 200 {
		text := []byte(strings.Repeat("aé\x00z", 50)[:n])
		if Sum(text) != sha256.Sum256(text) {
			t.Errorf("the sum of %d bytes is wrong", n)
		}
	}
}

// text100k is prose with the words that the prefilter knows, as memory files have.
func text100k() []byte {
	var b strings.Builder
	for i := 0; b.Len() < 107_000; i++ {
		fmt.Fprintf(&b, "- note %d: the task of the day was written down at https://example.org/%d and it took a while\n", i, i)
		if i%50 == 0 {
			b.WriteString("  the api key is kept elsewhere; token: $TOKEN\n")
		}
	}
	return []byte(b.String())
}

func BenchmarkScan(b *testing.B) {
	text := text100k()
	s := New()
	s.Scan("", text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.Scan("", text)
	}
}

// BenchmarkNaive is what the prefilter saves: every pattern on the whole text.
func BenchmarkNaive(b *testing.B) {
	text := text100k()
	rules := builtinRules()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for _, r := range rules {
			r.pattern().FindAllIndex(text, -1)
		}
	}
}
