package mask

import "strings"

// vendors are how the keys of some services begin, and how much follows at least.
// What is here package secrets finds too; a test holds that.
var vendors = []struct {
	prefix string
	least  int
}{
	{"sk-", 20},
	{"sk-let-", 10},
	{"sk_live_", 16},
	{"sk_test_", 16},
	{"rk_live_", 16},
	{"rk_test_", 16},
	{"ghp_", 36},
	{"gho_", 36},
	{"ghu_", 36},
	{"ghs_", 36},
	{"ghr_", 36},
	{"github_pat_", 22},
	{"glpat-", 20},
	{"glptt-", 20},
	{"gldt-", 20},
	{"glrt-", 20},
	{"glcbt-", 20},
	{"glsoat-", 20},
	{"AKIA", 16},
	{"ASIA", 16},
	{"ABIA", 16},
	{"ACCA", 16},
	{"AIza", 35},
	{"ya29.", 20},
	{"xoxa-", 10},
	{"xoxb-", 10},
	{"xoxe-", 10},
	{"xoxo-", 10},
	{"xoxp-", 10},
	{"xoxr-", 10},
	{"xoxs-", 10},
	{"npm_", 36},
	{"pypi-AgEIcHlwaS5vcmc", 50},
	{"hf_", 30},
	{"SG.", 49},
	{"dop_v1_", 64},
	{"doo_v1_", 64},
	{"dor_v1_", 64},
	{"AGE-SECRET-KEY-1", 58},
	{"eyJ", 32},
}

// vendor hides a key that is in a word, from where it begins to the word's end.
func vendor(word string) string {
	for _, v := range vendors {
		for from := 0; ; {
			at := strings.Index(word[from:], v.prefix)
			if at < 0 {
				break
			}
			at += from
			from = at + len(v.prefix)
			if len(word)-from >= v.least && (at == 0 || !alphanumeric(word[at-1])) {
				return word[:from] + Mark
			}
		}
	}
	return word
}

// webhooks are addresses of which the rest is a secret.
var webhooks = []string{"hooks.slack.com/services/", "/api/webhooks/"}

// webhook writes such an address that begins s, and returns how much of s that was,
// or 0.
func webhook(s string, out *strings.Builder) int {
	for _, w := range webhooks {
		if strings.HasPrefix(s, w) {
			out.WriteString(w + Mark)
			if end := strings.IndexAny(s, " \t\n\"'"); end >= 0 {
				return end
			}
			return len(s)
		}
	}
	return 0
}

func alphanumeric(c byte) bool { return inName(c) && c != '_' && c != '-' && c != '.' }

// Prefixes returns how the keys begin that are known by their look.
func Prefixes() []string {
	var list []string
	for _, v := range vendors {
		list = append(list, v.prefix)
	}
	return list
}
