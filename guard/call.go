package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/letta-confine/letta-confine/policy"
)

// Call is what a tool is about to be called with.
type Call struct {
	Tool  string
	Input []byte   // JSON, whose shape is the tool's own; empty where there is none
	Paths []string // further paths that the tool is given
	Cwd   string   // absolute; what a relative path is relative to
	Write bool     // the call writes, whatever is known of the tool
}

// target is one path of a call.
type target struct {
	given     string
	spellings []string // absolute; what different tools would make of given
	access    policy.Access
	recursive bool // all below it is read too
	unknown   bool // the access is the most that the tool could mean
}

// leaf is a string of a call's input, under the name of the argument that holds it.
type leaf struct{ key, text string }

// maxDepth bounds how deep an input may be nested, maxLeaves how much it holds,
// maxTargets how many paths that comes to, and maxWorkdirs in how many directories each
// of them may be: a harness goes on without a hook that takes too long.
const (
	maxDepth    = 64
	maxLeaves   = 10000
	maxTargets  = 10000
	maxWorkdirs = 8
)

var (
	errInput = errors.New("the tool's input is not a JSON object, or is not valid UTF-8")
	errLarge = errors.New("the tool's input is nested too deep or holds too much")
	errCwd   = errors.New("the working directory of the call is not absolute")
)

// targets lists what a call touches. Every string of the input is looked at, also
// in lists, in JSON within a string, and under a name that is given twice: tools
// differ in what they take.
func (c Call) targets(home string) ([]target, error) {
	if !strings.HasPrefix(c.Cwd, "/") {
		return nil, errCwd
	}
	var leaves []leaf
	if len(c.Input) > 0 || len(c.Paths) == 0 {
		var err error
		if leaves, err = leavesOf(c.Input); err != nil {
			return nil, err
		}
	}
	for _, path := range c.Paths {
		leaves = append(leaves, leaf{"path", path})
	}
	t := &collector{call: c, kind: KindOf(c.Tool), home: home}
	for _, l := range leaves {
		if WorkdirKey(l.key) {
			t.workdirs = append(t.workdirs, t.spellings(l.text)...)
		}
	}
	if len(t.workdirs) > maxWorkdirs {
		return nil, errLarge
	}
	for _, l := range leaves {
		if t.kind != Globber || !globKey(l.key) {
			t.path(l)
		}
		if len(t.found) > maxTargets {
			return nil, errLarge
		}
	}
	for _, l := range leaves {
		if t.isGlob(l) {
			if err := t.glob(l.text); err != nil {
				return nil, err
			}
		}
	}
	if len(t.found) == 0 && t.kind != Other && t.kind != Patcher && t.kind != Talker {
		t.add(c.Cwd, c.Cwd, t.kind >= Lister) // what is not named is the working directory
	}
	return t.found, nil
}

// collector gathers the targets of one call.
type collector struct {
	call     Call
	kind     Kind
	home     string
	workdirs []string // directories that the call itself wants to work in
	bases    []string // directories that the call names, which patterns are relative to
	found    []target
}

// isGlob reports whether a leaf is, or may be, a pattern of paths. A known tool that
// takes one file takes its name literally.
func (t *collector) isGlob(l leaf) bool {
	isPath, _ := pathKey(l.key)
	wild := strings.ContainsAny(l.text, `*?[{`)
	switch t.kind {
	case Globber:
		return globKey(l.key) || isPath && wild
	case Lister, Searcher:
		return isPath && wild && !t.isFilter(l)
	case Other:
		return isPathText(l.text) && (wild || globKey(l.key))
	}
	return false
}

// isFilter reports whether a leaf is the regular expression of a search, or a filter
// of the names below its path.
func (t *collector) isFilter(l leaf) bool {
	return t.kind == Searcher && globKey(l.key) && fold(l.key) != "paths"
}

// path adds what a leaf names, if it names a path.
func (t *collector) path(l leaf) {
	if t.kind == Patcher || t.kind == Other {
		for _, p := range Patched(l.text, t.kind == Other) {
			t.write(p)
		}
	}
	isPath, strong := pathKey(l.key)
	switch {
	case t.kind == Patcher && !isPath, (t.kind == Patcher || t.kind == Writer || t.kind == Mover) && WorkdirKey(l.key):
		return // what is written there has names of its own
	case t.isFilter(l):
		return
	case isPath && strong, t.kind == Mover, isPath && isPathText(l.text) && t.kind != Talker, isURI(l.text):
	case t.kind == Other && isPathText(l.text) && !strings.Contains(l.text, "\n"):
	default:
		return
	}
	if t.kind >= Lister {
		t.bases = append(t.bases, l.text)
	}
	t.add(l.text, l.text, t.kind >= Lister)
}

// add adds a path; given is how the call has it.
func (t *collector) add(given, text string, recursive bool) {
	n := target{given: given, access: policy.Read, recursive: recursive}
	switch {
	case t.call.Write || t.kind == Writer || t.kind == Mover || t.kind == Patcher:
		n.access = policy.ReadWrite
	case t.kind == Other:
		n.access, n.unknown = policy.ReadWrite, true
	}
	n.spellings = t.spellings(text)
	t.found = append(t.found, n)
}

func (t *collector) write(text string) {
	t.found = append(t.found, target{given: text, access: policy.ReadWrite, spellings: t.spellings(text)})
}

// spellings returns what tools make of a path: some trim it, some expand a home
// directory, some take a URI. What is expanded is judged beside the literal text.
func (t *collector) spellings(text string) []string {
	texts := []string{text, Trimmed(text)}
	if isURI(text) {
		texts = append(texts, uriPaths(texts[1])...)
	}
	var all []string
	for _, s := range texts {
		if rest, ok := inHome(s); ok && t.home != "" {
			all = append(all, t.home+rest)
		}
		switch {
		case s == "" && text != "":
			all = append(all, "") // refused
			continue
		case strings.HasPrefix(s, "/"):
			all = append(all, s)
			continue
		}
		all = append(all, absolute(t.call.Cwd, s))
		for _, dir := range t.workdirs {
			all = append(all, absolute(dir, s))
		}
	}
	return unique(all)
}

func absolute(base, p string) string {
	if strings.HasPrefix(p, "/") {
		return p
	}
	return strings.TrimSuffix(base, "/") + "/" + p
}

// inHome returns what follows ~ or $HOME where that is the first component. A tool
// that expands ${HOME} is none that is known.
func inHome(s string) (rest string, ok bool) {
	for _, prefix := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok && (rest == "" || rest[0] == '/') {
			return rest, true
		}
	}
	return "", false
}

// isPathText reports whether a text looks like a path whatever it is called.
func isPathText(s string) bool {
	s = Trimmed(s)
	_, home := inHome(s)
	return home || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || s == ".." || strings.HasPrefix(s, "../") || strings.Contains(s, "/../") || isURI(s)
}

// Trimmed is a text without the blanks around it, among which JavaScript's trim counts
// a byte order mark.
func Trimmed(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
}

func unique(list []string) []string {
	var kept []string
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			kept = append(kept, s)
		}
	}
	return kept
}

// leavesOf returns every string of a JSON object.
func leavesOf(raw []byte) ([]leaf, error) {
	if !utf8.Valid(raw) || !json.Valid(raw) || !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil, errInput
	}
	var all []leaf
	return all, appendLeaves(&all, raw, "", 0)
}

func appendLeaves(all *[]leaf, raw []byte, key string, depth int) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return value(dec, all, key, depth)
}

// value reads one JSON value by its tokens, so that a name given twice counts twice.
func value(dec *json.Decoder, all *[]leaf, key string, depth int) error {
	if depth > maxDepth || len(*all) > maxLeaves {
		return errLarge
	}
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		for dec.More() {
			name := key
			if token == '{' {
				k, err := dec.Token()
				if err != nil {
					return err
				}
				if name = k.(string); isPathText(name) {
					*all = append(*all, leaf{"path", name}) // a list of files by name
				}
			}
			if err := value(dec, all, name, depth+1); err != nil {
				return err
			}
		}
		_, err := dec.Token()
		return err
	case string:
		*all = append(*all, leaf{key, token})
		if !holdsJSON(key) {
			return nil
		}
		if s := strings.TrimSpace(token); (strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")) && json.Valid([]byte(s)) {
			return appendLeaves(all, []byte(s), key, depth+1)
		}
	}
	return nil
}

// holdsJSON reports whether the text of an argument may be JSON that the tool
// decodes. The content of a file that is written is data, whatever it says.
func holdsJSON(key string) bool {
	switch fold(key) {
	case "edits", "arguments", "args", "input", "toolinput", "params", "parameters", "changes", "operations", "requests":
		return true
	}
	_, strong := pathKey(key)
	return strong
}
