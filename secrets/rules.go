package secrets

import (
	"regexp"
	"strings"
	"sync"

	"github.com/letta-confine/letta-confine/verdict"
)

// class says what a pattern goes by, and so what may pass all the same.
type class int

const (
	prefix     class = iota // a vendor's own prefix: there is no other reading
	structure               // the frame of a key file: no placeholder fits in it
	shape                   // a form that passwords are written in
	assignment              // a name and a value: a guess
)

// rule is one kind of secret. The value is the last group that took part in a
// match, or the whole match.
type rule struct {
	kind     string
	class    class
	decision verdict.Decision
	keywords []string // lower case; without one of them in the text nothing can match
	pattern  func() *regexp.Regexp

	entropy  float64        // bits a character that the value needs, or 0
	path     *regexp.Regexp // of the file, or nil for any
	nameOnly bool           // path alone decides
	group    int            // of the value, or 0 for the last
	whole    bool           // a match may span lines: a keyword anywhere will do
}

// lazy compiles a pattern when it is first needed: all of them take about a
// millisecond, which no command that starts should pay.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// builtin are the kinds, the particular before the general. Three alternatives
// have no word boundary before them, being met anywhere in a line. It is plain
// data: nothing runs at start. Keywords stand between bars.
var builtin = [...]struct {
	kind     string
	class    class
	decision verdict.Decision
	pattern  string
	keywords string
}{
	{"private-key-block", structure, verdict.Deny, `-----BEGIN (?:.* )?PRIVATE KEY(?: BLOCK)?-----`, "private key"},
	{"anthropic-key", prefix, verdict.Deny, `\bsk-ant-[a-z0-9]+-([A-Za-z0-9_-]{20,})`, "sk-ant-"},
	{"letta-key", prefix, verdict.Deny, `\bsk-let-([A-Za-z0-9_-]{10,})`, "sk-let-"},
	{"openrouter-key", prefix, verdict.Deny, `\bsk-or-v1-([a-f0-9]{64})\b`, "sk-or-v1-"},
	{"openai-key", prefix, verdict.Deny, `\bsk-(?:proj-|svcacct-|admin-)?([A-Za-z0-9_-]{20,})|sk-([A-Za-z0-9]{20,})`, "sk-"},
	{"github-token", prefix, verdict.Deny, `\bgh[pousr]_([A-Za-z0-9]{36,})\b|ghp_([A-Za-z0-9]{36})`, "ghp_|gho_|ghu_|ghs_|ghr_"},
	{"github-fine-grained", prefix, verdict.Deny, `\bgithub_pat_([A-Za-z0-9_]{22,})`, "github_pat_"},
	{"gitlab-token", prefix, verdict.Deny, `\bgl(?:pat|ptt|dt|rt|cbt|soat)-([A-Za-z0-9_-]{20,})`, "glpat-|glptt-|gldt-|glrt-|glcbt-|glsoat-"},
	{"aws-access-key-id", prefix, verdict.Ask, `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, "akia|asia|abia|acca"},
	{"aws-secret-assignment", assignment, verdict.Ask, `(?i)(?:aws_?)?secret_?access_?key['"]?\s*[:=]\s*['"]?([A-Za-z0-9/+=]{40})\b`, "access_key|accesskey"},
	{"google-api-key", prefix, verdict.Deny, `\bAIza([0-9A-Za-z_-]{35})`, "aiza"},
	{"google-oauth-token", prefix, verdict.Deny, `\bya29\.([0-9A-Za-z_-]{20,})`, "ya29."},
	{"slack-token", prefix, verdict.Deny, `\bxox[abeoprs]-([0-9A-Za-z-]{10,})`, "xox"},
	{"slack-webhook", shape, verdict.Deny, `https://hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/([A-Za-z0-9]{20,})`, "hooks.slack.com"},
	{"discord-webhook", shape, verdict.Deny, `https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/\d{17,20}/([A-Za-z0-9_-]{60,})`, "/api/webhooks/"},
	{"stripe-key", prefix, verdict.Ask, `\b[rs]k_test_([A-Za-z0-9]{16,})`, "k_test_"},
	{"stripe-key", prefix, verdict.Deny, `\b[rs]k_live_([A-Za-z0-9]{16,})`, "k_live_"},
	{"npm-token", prefix, verdict.Deny, `\bnpm_([A-Za-z0-9]{36})\b`, "npm_"},
	{"pypi-token", prefix, verdict.Deny, `\bpypi-AgEIcHlwaS5vcmc([A-Za-z0-9_-]{50,})`, "pypi-ageichlwas5vcmc"},
	{"huggingface-token", prefix, verdict.Deny, `\bhf_([A-Za-z0-9]{30,})\b`, "hf_"},
	{"sendgrid-key", prefix, verdict.Deny, `\bSG\.[A-Za-z0-9_-]{16,32}\.([A-Za-z0-9_-]{32,64})`, "sg."},
	{"digitalocean-token", prefix, verdict.Deny, `\bdo[por]_v1_([a-f0-9]{64})\b`, "dop_v1_|doo_v1_|dor_v1_"},
	{"telegram-bot-token", shape, verdict.Deny, `\b\d{8,10}:AA([A-Za-z0-9_-]{33})\b`, ":aa"},
	{"age-secret-key", prefix, verdict.Deny, `\bAGE-SECRET-KEY-1([QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58})\b`, "age-secret-key-1"},
	{"jwt", shape, verdict.Ask, `\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`, "eyj"},
	{"url-password", shape, verdict.Deny, `\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^/\s:@'"]{0,64}:([^/\s:@'"]{3,128})@`, "@"},
	{"http-auth-header", shape, verdict.Deny, `(?i)\bauthorization['"]?\s*[:=]\s*['"]?(?:basic|bearer)\s+([A-Za-z0-9+/._=-]{16,})`, "authorization"},
	{"generic-assignment", assignment, verdict.Ask, `(?i)\b[a-z0-9_.-]*(?:api[_-]?key|secret|token|passw(?:or)?d|private[_-]?key)['"]?\s*[:=]\s*['"]?([A-Za-z0-9_+/.=-]{16,})`, "key|secret|token|passwd|password"},
}

// guessEntropy is what the value of an assignment by any name needs; gitleaks' too.
const guessEntropy = 3.5

func builtinRules() []rule {
	list := make([]rule, len(builtin))
	for i, b := range builtin {
		list[i] = rule{kind: b.kind, class: b.class, decision: b.decision, keywords: strings.Split(b.keywords, "|"), pattern: lazy(b.pattern)}
	}
	list[len(list)-1].entropy = guessEntropy
	return list
}
