// Package verdict has the answers of letta-confine check: what every kind of
// check says, and the exit status that says it.
package verdict

// Schema is the version of the JSON form of a Verdict. It grows when a field
// changes its meaning or goes away, not when one is added.
const Schema = 1

// Decision is an answer. The order is that of strictness, so the stricter of
// two is the greater.
type Decision int

// The answers, the mildest first. The zero value is Ask: what nobody has decided
// is asked.
const (
	Allow Decision = iota - 1
	Ask
	Deny
)

// String is the word for d on the command line and in JSON.
func (d Decision) String() string {
	switch d {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	}
	return "ask"
}

// MarshalText gives d as its word.
func (d Decision) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Status is the exit status that says d: 0 allow, 2 deny, 3 ask.
func (d Decision) Status() int {
	switch d {
	case Allow:
		return 0
	case Deny:
		return 2
	}
	return 3
}

// Verdict is the answer to one question, and why.
type Verdict struct {
	Decision Decision `json:"decision"`
	// Code names the reason for a program: lower-case words with hyphens, stable.
	Code string `json:"code"`
	// Reason says it to a person in one line.
	Reason string `json:"reason"`
	// Rule is the rule, root or pattern that decided, as it was written.
	Rule string `json:"rule,omitempty"`
}

// Stricter returns the stricter of v and w; v where they are equal.
func (v Verdict) Stricter(w Verdict) Verdict {
	if w.Decision > v.Decision {
		return w
	}
	return v
}
