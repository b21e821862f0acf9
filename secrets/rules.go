package secrets

import (
	"regexp"
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
// have no word boundary before them, being met anywhere in a line.
func builtin() []rule {
	block := func(kind string, c class, pattern string, keywords ...string) rule {
		return rule{kind: kind, class: c, decision: verdict.Deny, keywords: keywords, pattern: lazy(pattern)}
	}
	warn := func(kind string, c class, pattern string, keywords ...string) rule {
		return rule{kind: kind, class: c, decision: verdict.Ask, keywords: keywords, pattern: lazy(pattern)}
	}
	generic := warn("generic-assignment", assignment,
		`(?i)\b[a-z0-9_.-]*(?:api[_-]?key|secret|token|passw(?:or)?d|private[_-]?key)['"]?\s*[:=]\s*['"]?([A-Za-z0-9_+/.=-]{16,})`,
		"key", "secret", "token", "passwd", "password")
	generic.entropy = 3.5
	return []rule{
		block("private-key-block", structure, `-----BEGIN (?:.* )?PRIVATE KEY(?: BLOCK)?-----`, "private key"),
		block("anthropic-key", prefix, `\bsk-ant-[a-z0-9]+-([A-Za-z0-9_-]{20,})`, "sk-ant-"),
		block("letta-key", prefix, `\bsk-let-([A-Za-z0-9_-]{10,})`, "sk-let-"),
		block("openrouter-key", prefix, `\bsk-or-v1-([a-f0-9]{64})\b`, "sk-or-v1-"),
		block("openai-key", prefix, `\bsk-(?:proj-|svcacct-|admin-)?([A-Za-z0-9_-]{20,})|sk-([A-Za-z0-9]{20,})`, "sk-"),
		block("github-token", prefix, `\bgh[pousr]_([A-Za-z0-9]{36,})\b|ghp_([A-Za-z0-9]{36})`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
		block("github-fine-grained", prefix, `\bgithub_pat_([A-Za-z0-9_]{22,})`, "github_pat_"),
		block("gitlab-token", prefix, `\bgl(?:pat|ptt|dt|rt|cbt|soat)-([A-Za-z0-9_-]{20,})`, "glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-"),
		warn("aws-access-key-id", prefix, `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, "akia", "asia", "abia", "acca"),
		warn("aws-secret-assignment", assignment, `(?i)aws_?secret_?access_?key['"]?\s*[:=]\s*['"]?([A-Za-z0-9/+=]{40})\b`, "access_key", "accesskey"),
		block("google-api-key", prefix, `\bAIza([0-9A-Za-z_-]{35})`, "aiza"),
		block("google-oauth-token", prefix, `\bya29\.([0-9A-Za-z_-]{20,})`, "ya29."),
		block("slack-token", prefix, `\bxox[abeoprs]-([0-9A-Za-z-]{10,})`, "xox"),
		block("slack-webhook", shape, `https://hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/([A-Za-z0-9]{20,})`, "hooks.slack.com"),
		block("discord-webhook", shape, `https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/\d{17,20}/([A-Za-z0-9_-]{60,})`, "/api/webhooks/"),
		warn("stripe-key", prefix, `\b[rs]k_test_([A-Za-z0-9]{16,})`, "k_test_"),
		block("stripe-key", prefix, `\b[rs]k_live_([A-Za-z0-9]{16,})`, "k_live_"),
		block("npm-token", prefix, `\bnpm_([A-Za-z0-9]{36})\b`, "npm_"),
		block("pypi-token", prefix, `\bpypi-AgEIcHlwaS5vcmc([A-Za-z0-9_-]{50,})`, "pypi-ageichlwas5vcmc"),
		block("huggingface-token", prefix, `\bhf_([A-Za-z0-9]{30,})\b`, "hf_"),
		block("sendgrid-key", prefix, `\bSG\.[A-Za-z0-9_-]{16,32}\.([A-Za-z0-9_-]{32,64})`, "sg."),
		block("digitalocean-token", prefix, `\bdo[por]_v1_([a-f0-9]{64})\b`, "dop_v1_", "doo_v1_", "dor_v1_"),
		block("telegram-bot-token", shape, `\b\d{8,10}:AA([A-Za-z0-9_-]{33})\b`, ":aa"),
		block("age-secret-key", prefix, `\bAGE-SECRET-KEY-1([QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58})\b`, "age-secret-key-1"),
		warn("jwt", shape, `\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`, "eyj"),
		block("url-password", shape, `\b[a-z][a-z0-9+.-]{1,20}://[^/\s:@'"]{1,64}:([^/\s:@'"]{3,128})@`, "@"),
		block("http-auth-header", shape, `(?i)\bauthorization['"]?\s*[:=]\s*['"]?(?:basic|bearer)\s+([A-Za-z0-9+/._=-]{16,})`, "authorization"),
		generic,
	}
}
