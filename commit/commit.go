// Package commit judges what is staged in a memory repository of letta-code before
// it is committed.
//
// It is advice: git commit --no-verify runs no hook, and who may write .git needs
// no git. What must hold is checked again where the commits are taken in.
package commit

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/letta-confine/letta-confine/secrets"
	"github.com/letta-confine/letta-confine/verdict"
)

// Finding is one thing that is wrong with what is staged, or that a person approved.
type Finding struct {
	verdict.Verdict
	// Path is relative to the top of the repository; empty where it holds a secret.
	Path string `json:"path"`
	// Line and Column count from 1; they are 0 where the file as a whole is meant.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Approved says that a person's approval turned the answer into allow.
	Approved bool `json:"approved,omitempty"`
}

// judge is one run of Judge.
type judge struct {
	objects   *objects
	scanner   *secrets.Scanner
	approved  bool
	protected []string // patterns of readOnlyFiles
	found     []Finding
}

// Judge returns what is wrong with what is staged; nothing where all may be
// committed. With approved, a person has agreed to changes of the configuration
// and of the files that it protects, and to what only looks like a secret.
// Nothing that the repository configures is run.
func Judge(r Repo, scanner *secrets.Scanner, approved bool) ([]Finding, error) {
	changes, err := r.staged()
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return nil, nil
	}
	o, err := r.objects()
	if err != nil {
		return nil, err
	}
	defer o.close()
	j := &judge{objects: o, scanner: scanner, approved: approved}
	if err := j.configs(); err != nil {
		return nil, err
	}
	for i := range changes {
		if err := j.change(&changes[i]); err != nil {
			return nil, err
		}
	}
	for i := range j.found {
		if f := &j.found[i]; len(scanner.Scan("", []byte(f.Path))) > 0 {
			f.Path = ""
		}
	}
	return j.found, nil
}

func (j *judge) add(path string, d verdict.Decision, code, reason string) {
	j.found = append(j.found, Finding{Verdict: verdict.Verdict{Decision: d, Code: code, Reason: reason}, Path: path})
}

// ask adds what a person may approve.
func (j *judge) ask(path string, d verdict.Decision, code, reason string) {
	if j.approved {
		d = verdict.Allow
	}
	j.add(path, d, code, reason)
	j.found[len(j.found)-1].Approved = j.approved
}

// configs reads the configuration as it is committed and as it is staged. Both
// protect: a change of the one must not take effect before it is approved.
func (j *judge) configs() error {
	for _, dir := range configDirs {
		for _, tree := range []string{"HEAD:", ":"} {
			text, ok, err := j.objects.read(tree + dir + configName)
			if err != nil && !errors.Is(err, errTooLarge) {
				return err
			}
			if !ok {
				continue
			}
			var list []string
			if err == nil {
				list, err = readOnlyFiles(dir, text)
			}
			switch reason := fmt.Sprintf("the configuration cannot be read: %v", err); {
			case err == nil:
				j.protected = append(j.protected, list...)
			case tree == "HEAD:":
				j.ask(dir+configName, verdict.Deny, "bad-config", "as committed, "+reason)
			default:
				j.add(dir+configName, verdict.Deny, "bad-config", reason)
			}
		}
	}
	return nil
}

func (j *judge) change(c *change) error {
	name := c.dst
	if name == "" {
		name = c.src
	}
	if !strings.ContainsRune("AMDRCT", rune(c.status)) {
		j.add(name, verdict.Deny, "unmerged", "the file is not merged")
		return nil
	}
	old, err := j.blob(c.src, c.srcMode, c.srcID)
	if err == nil {
		j.protect(c, name, old)
		var text []byte
		if text, err = j.blob(c.dst, c.dstMode, c.dstID); err == nil && c.dst != "" {
			j.content(c, old, text)
		}
	}
	if errors.Is(err, errTooLarge) {
		j.add(name, verdict.Deny, "too-large", err.Error())
		return nil
	}
	return err
}

// blob reads a regular file; everything else has no text here.
func (j *judge) blob(name, mode, id string) ([]byte, error) {
	if name == "" || !isRegular(mode) {
		return nil, nil
	}
	text, ok, err := j.objects.read(id)
	if err == nil && !ok {
		err = fmt.Errorf("git has no object %s", id)
	}
	return text, err
}

func isRegular(mode string) bool { return mode == "100644" || mode == "100755" }

// protect judges whether what is there already may change.
func (j *judge) protect(c *change, name string, old []byte) {
	if c.status != 'C' && isMarkdown(c.src) && isReadOnly(old) {
		j.add(name, verdict.Deny, "read-only", "the file is read_only: it may not be changed, moved, replaced or deleted")
	}
	var paths []string
	if c.src != "" && c.status != 'C' {
		paths = append(paths, c.src)
	}
	if c.dst != "" && c.dst != c.src {
		paths = append(paths, c.dst)
	}
	for _, p := range paths {
		if isConfig(p) {
			j.ask(name, verdict.Deny, "config", "the configuration changes only with a person's approval")
			break
		}
		if pattern := j.protectedBy(p); pattern != "" {
			j.ask(name, verdict.Deny, "read-only-files", "the file is in readOnlyFiles: it changes only with a person's approval")
			j.found[len(j.found)-1].Rule = pattern
			break
		}
	}
}

func (j *judge) protectedBy(name string) string {
	for _, pattern := range j.protected {
		if covers(pattern, name) {
			return pattern
		}
	}
	return ""
}

// content judges what is to be committed.
func (j *judge) content(c *change, old, text []byte) {
	if !isRegular(c.dstMode) {
		j.add(c.dst, verdict.Deny, "not-a-file", "only regular files are committed, not links and submodules")
		return
	}
	if isFlatSkill(c.dst) {
		j.add(c.dst, verdict.Deny, "skill-path", "a skill is a directory: skills/NAME/SKILL.md")
	}
	if isMemory(c.dst) {
		if strings.ContainsFunc(c.dst, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar }) {
			j.add(c.dst, verdict.Deny, "file-name", "the name of a memory file holds no blanks, and is UTF-8")
		}
		was := old
		if c.status == 'A' || c.status == 'C' {
			was = nil
		}
		for _, reason := range frontmatter(was, text) {
			j.add(c.dst, verdict.Deny, "frontmatter", reason)
		}
	}
	lines, had := added(old, text)
	for _, f := range j.scanner.Scan(c.dst, []byte(strings.Join(lines, "\n"))) {
		if f.Line > 0 && had[f.Line-1] && f.Column-1+f.Length <= len(strings.ReplaceAll(lines[f.Line-1], "\x00", "")) {
			continue // nothing of it is new
		}
		reason := "looks like a secret: " + f.Kind
		if f.Decision == verdict.Ask {
			j.ask(c.dst, f.Decision, "secret", reason)
		} else {
			j.add(c.dst, f.Decision, "secret", reason)
		}
		last := &j.found[len(j.found)-1]
		last.Rule, last.Line, last.Column = f.Kind, f.Line, f.Column
	}
}

// added are the lines of text, emptied where the file had them before, so that the
// others keep their numbers; but not the one before a new line, because a new value
// may follow its old name there.
func added(old, text []byte) (lines []string, had []bool) {
	was := make(map[string]bool)
	for line := range strings.SplitSeq(string(old), "\n") {
		was[line] = true
	}
	lines = strings.Split(string(text), "\n")
	for _, line := range lines {
		had = append(had, was[line])
	}
	for i := range lines {
		if had[i] && (i+1 == len(lines) || had[i+1]) {
			lines[i] = ""
		}
	}
	return lines, had
}

// The places of letta-code's layout. Case is folded, as some file systems do.

func isMarkdown(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".md") }

func isMemory(name string) bool {
	inner := strings.TrimPrefix(strings.ToLower(name), "memory/")
	return isMarkdown(name) && (strings.HasPrefix(inner, "system/") || strings.HasPrefix(inner, "reference/"))
}

func isFlatSkill(name string) bool {
	inner, ok := strings.CutPrefix(strings.TrimPrefix(strings.ToLower(name), "memory/"), "skills/")
	return ok && isMarkdown(name) && !strings.Contains(inner, "/")
}
