package sim

import (
	"regexp"
	"slices"
	"strings"
)

// Verdict is what a profile says of one operation on one path.
type Verdict uint8

// The verdicts. Ambiguous means that the answer rests on something about
// Seatbelt that nobody is known to have measured; a profile must not depend on it.
const (
	VerdictDeny Verdict = iota
	VerdictAllow
	VerdictAmbiguous
)

// String returns "deny", "allow" or "ambiguous".
func (v Verdict) String() string { return [...]string{"deny", "allow", "ambiguous"}[v] }

// SBPL is a Seatbelt profile that can be asked what it decides. It follows what
// has been published about Seatbelt's behaviour, and nothing of the emitter; no
// part of it was compared with a Mac. It is for one goroutine at a time.
type SBPL struct {
	// FoldCase makes literal, subpath and prefix ignore case, as they do on a
	// case-insensitive volume; a regex never does (orbit#494).
	FoldCase bool

	// Flat drops the precedence of a specific operation over a wildcard one: of
	// all filtered rules that speak of the operation the last match wins. It is
	// the rival reading of the published reports; a profile that is right under
	// both does not depend on which is true.
	Flat bool

	// IsFile says of a path whether it is something other than a directory.
	// Whether (subpath P) covers a plain file P is disputed (KiroCrew#7743): an
	// answer that depends on it is ambiguous. Nil means that all are directories.
	IsFile func(path string) bool

	params               map[string]string
	rules                int
	filtered, unfiltered map[string][]*sbplRule // by operation, in the order of the text
	levels               map[string][]sbplLevel // filled by levelsOf
	subpaths             map[string]bool        // the texts of subpath filters, for which alone IsFile matters
}

// sbplParents is the hierarchy of operations: where Seatbelt looks next when no
// rule for an operation decides. Operations that are not here void a profile.
var sbplParents = map[string]string{
	"default": "",

	"file*": "default", "file-link": "file*", "file-clone": "file*", "file-ioctl": "file*",
	"file-mount": "file*", "file-unmount": "file*",

	"file-read*":         "file*",
	"file-read-data":     "file-read*",
	"file-read-metadata": "file-read*",
	"file-read-xattr":    "file-read*",

	"file-write*":       "file*",
	"file-write-create": "file-write*",
	"file-write-data":   "file-write*",
	"file-write-flags":  "file-write*",
	"file-write-mode":   "file-write*",
	"file-write-owner":  "file-write*",
	"file-write-times":  "file-write*",
	"file-write-unlink": "file-write*",
	"file-write-xattr":  "file-write*",

	"network*": "default", "network-outbound": "network*", "network-inbound": "network*", "network-bind": "network*",

	"process*": "default", "process-exec*": "process*", "process-fork": "process*",

	"appleevent-send": "default", "job-creation": "default", "lsopen": "default",
}

// sbplFilter is one compiled filter.
type sbplFilter struct {
	kind string
	text string
	re   *regexp.Regexp
	subs []sbplFilter
}

// sbplQuery is one question, and what is assumed in answering it.
type sbplQuery struct {
	path     string
	fold     bool
	selfFile bool // whether (subpath P) leaves P itself out
}

func (f sbplFilter) matches(q sbplQuery) bool {
	text, path := f.text, q.path
	if q.fold {
		text, path = strings.ToLower(text), strings.ToLower(path)
	}
	switch f.kind {
	case "literal":
		return path == text
	case "subpath":
		if path == text {
			return !q.selfFile
		}
		return text == "/" || strings.HasPrefix(path, text) && path[len(text)] == '/'
	case "prefix":
		return strings.HasPrefix(path, text)
	case "regex":
		return f.re.MatchString(q.path)
	case "require-all":
		for _, sub := range f.subs {
			if !sub.matches(q) {
				return false
			}
		}
		return true
	case "require-any":
		return sbplAny(f.subs, q)
	case "require-not":
		return !f.subs[0].matches(q)
	case "remote":
		return f.subs[0].matches(q)
	}
	panic("sim: filter " + f.kind)
}

func sbplAny(filters []sbplFilter, q sbplQuery) bool {
	for _, f := range filters {
		if f.matches(q) {
			return true
		}
	}
	return false
}

// Decide says whether the profile lets a process do op on path. It panics for
// an operation that it does not know.
func (p *SBPL) Decide(op, path string) Verdict {
	if _, ok := sbplParents[op]; !ok {
		panic("sim: unknown operation " + op)
	}
	q := sbplQuery{path: path, fold: p.FoldCase}
	v := p.decide(op, q)
	if p.IsFile != nil && (p.FoldCase || p.subpaths[path]) && p.IsFile(path) {
		q.selfFile = true
		if p.decide(op, q) != v {
			return VerdictAmbiguous
		}
	}
	return v
}

// decide looks at the operation, then at its parents. A filtered rule that
// matches settles it, the last one among those of the same operation (mxc#754);
// a rule without a filter gives way to any filtered one of its operation. An
// unfiltered rule of a specific operation against a filtered one of a wildcard
// is unmeasured.
func (p *SBPL) decide(op string, q sbplQuery) Verdict {
	if p.Flat {
		return p.decideFlat(op, q)
	}
	settled := false
	var verdict Verdict
	for _, at := range p.levelsOf(op) {
		if v, ok := sbplLast(at.filtered, q); ok {
			if settled && v != verdict {
				return VerdictAmbiguous
			}
			return v
		}
		if v, ok := sbplLast(at.unfiltered, q); ok && !settled {
			settled, verdict = true, v
		}
	}
	return verdict
}

// sbplLevel is what the rules say of one operation by name.
type sbplLevel struct{ filtered, unfiltered []*sbplRule }

// levelsOf returns the levels of an operation and its parents that have rules,
// and remembers them.
func (p *SBPL) levelsOf(op string) []sbplLevel {
	levels, ok := p.levels[op]
	if ok {
		return levels
	}
	for at := op; at != ""; at = sbplParents[at] {
		if l := (sbplLevel{p.filtered[at], p.unfiltered[at]}); l.filtered != nil || l.unfiltered != nil {
			levels = append(levels, l)
		}
	}
	p.levels[op] = levels
	return levels
}

func (p *SBPL) decideFlat(op string, q sbplQuery) Verdict {
	var rules []*sbplRule
	for at := op; at != ""; at = sbplParents[at] {
		rules = append(rules, p.filtered[at]...)
	}
	slices.SortStableFunc(rules, func(a, b *sbplRule) int { return a.number - b.number })
	if v, ok := sbplLast(rules, q); ok {
		return v
	}
	for at := op; at != ""; at = sbplParents[at] {
		if v, ok := sbplLast(p.unfiltered[at], q); ok {
			return v
		}
	}
	return VerdictDeny
}

// sbplLast returns the verdict of the last rule that applies; one without a
// filter always does.
func sbplLast(rules []*sbplRule, q sbplQuery) (Verdict, bool) {
	for _, rule := range slices.Backward(rules) {
		if rule.filters == nil || sbplAny(rule.filters, q) {
			if rule.allow {
				return VerdictAllow, true
			}
			return VerdictDeny, true
		}
	}
	return VerdictDeny, false
}

// Read is open(2) for reading and read(2) of a file.
func (p *SBPL) Read(path string) Verdict { return p.Decide("file-read-data", path) }

// List is readdir(3) of a directory.
func (p *SBPL) List(dir string) Verdict { return p.Decide("file-read-data", dir) }

// Stat is stat(2).
func (p *SBPL) Stat(path string) Verdict { return p.Decide("file-read-metadata", path) }

// Write is write(2) to a file that exists.
func (p *SBPL) Write(path string) Verdict { return p.Decide("file-write-data", path) }

// Create is open(2) with O_CREAT, mkdir(2), symlink(2) of a name that is free.
func (p *SBPL) Create(path string) Verdict { return p.Decide("file-write-create", path) }

// Unlink is unlink(2) and rmdir(2).
func (p *SBPL) Unlink(path string) Verdict { return p.Decide("file-write-unlink", path) }

// Rename is rename(2): the source counts as unlinked, the target as created.
func (p *SBPL) Rename(src, dst string) Verdict { return sbplBoth(p.Unlink(src), p.Create(dst)) }

// Link is link(2): the source is asked about as file-link, the target as created.
func (p *SBPL) Link(src, dst string) Verdict {
	return sbplBoth(p.Decide("file-link", src), p.Create(dst))
}

// Connect is connect(2) to a socket that has a path.
func (p *SBPL) Connect(path string) Verdict { return p.Decide("network-outbound", path) }

// sbplBoth is the verdict of two checks that must both allow.
func sbplBoth(a, b Verdict) Verdict {
	switch {
	case a == VerdictDeny || b == VerdictDeny:
		return VerdictDeny
	case a == VerdictAmbiguous || b == VerdictAmbiguous:
		return VerdictAmbiguous
	}
	return VerdictAllow
}
