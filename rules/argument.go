package rules

import (
	"net/url"
	"strings"
)

// argument reports whether the payload of a rule is about a call of a tool that runs no
// command and names no file; known is whether that can be told: of the domain of
// WebFetch, the kind of a Task's agent and the name of a Skill. strict is for deny and
// ask rules, to which the domains below one count.
func (r Rule) argument(call ToolCall, strict bool) (met, known bool) {
	payload := strings.TrimSpace(r.Payload)
	for _, all := range []string{"", "*", "**", ":*"} {
		if payload == all {
			return true, true
		}
	}
	switch canonical(call.Tool) {
	case "WebFetch":
		domain, isDomain := strings.CutPrefix(strings.ToLower(payload), "domain:")
		host, ok := hostOf(call.Input)
		below := strict && strings.HasSuffix(host, "."+domain)
		return below || wildcard(domain, host), ok && isDomain
	case "Task":
		return is(call.Input, payload, strict, "subagent_type")
	case "Skill":
		return is(call.Input, payload, strict, "skill", "name", "command")
	}
	return false, false
}

// allowsArgument is argument for allow rules, which say nothing of what cannot be told.
func (r Rule) allowsArgument(call ToolCall) bool {
	met, known := r.argument(call, false)
	return met && known
}

// is compares a rule's payload with the one argument of these that a call has.
func is(input map[string]any, payload string, strict bool, keys ...string) (met, known bool) {
	for _, key := range keys {
		value, there := input[key]
		text, isText := value.(string)
		switch {
		case !there:
			continue
		case !isText, text == "", known:
			return false, false
		}
		known, met = true, text == payload || strict && strings.EqualFold(strings.TrimSpace(text), payload)
	}
	return met, known
}

// hostOf is the host of a call's URL. It is not known where programs could read the URL
// differently, and where it may be an address in one of its many spellings.
func hostOf(input map[string]any) (host string, known bool) {
	for key := range input {
		if low := strings.ToLower(key); key != "url" && (strings.Contains(low, "url") || strings.Contains(low, "uri")) {
			return "", false
		}
	}
	text, _ := input["url"].(string)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.ContainsAny(text, "\\ ") {
		return "", false
	}
	host = strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || last[0] < 'a' || last[0] > 'z' || strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		return "", false
	}
	return host, true
}
