package rules

import (
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// families are the names that one tool has for different models; the first is
// what rules are compared by.
var families = [][]string{
	{"Bash", "bash", "Shell", "shell", "shell_command", "ShellCommand", "exec_command", "write_stdin", "run_shell_command", "RunShellCommand", "local_shell"},
	{"Read", "read_file", "ReadFile", "read_file_gemini", "ReadFileGemini"},
	{"Write", "write_file", "WriteFile", "write_file_gemini", "WriteFileGemini"},
	{"Edit", "MultiEdit", "NotebookEdit", "replace", "Replace"},
	{"Glob", "glob_gemini", "GlobGemini"},
	{"Grep", "grep_files", "GrepFiles", "search_file_content", "SearchFileContent"},
	{"ListDir", "list_dir", "list_directory", "ListDirectory", "LS"},
	{"Task", "task", "Agent", "agent"},
	{"apply_patch", "ApplyPatch", "memory_apply_patch"},
	{"read_many_files", "ReadManyFiles"},
	{"Skill"},
	{"Monitor"},
	{"TodoWrite"},
	{"TaskOutput"},
	{"memory"},
	{"MessageChannel"},
	{"update_plan"},
	{"WebFetch"},
	{"WebSearch"},
}

// canonical is the name that a tool is compared by.
func canonical(tool string) string {
	for _, family := range families {
		if slices.Contains(family, tool) {
			return family[0]
		}
	}
	return tool
}

// Tools are the tools that no deny rule without a payload takes away.
func (s *Set) Tools() []string {
	var out []string
	for _, family := range families {
		gone := slices.ContainsFunc(s.Rules[Deny], func(r Rule) bool {
			return (r.Bare || r.Payload == "**" || r.Payload == ":*" || r.Payload == "*") && (r.Tool == "*" || canonical(r.Tool) == family[0])
		})
		if !gone {
			out = append(out, family[0])
		}
	}
	return out
}

func reads(tool string) bool {
	return slices.Contains([]string{"Read", "Glob", "Grep", "ListDir", "read_many_files"}, tool)
}

func writes(tool string) bool { return slices.Contains([]string{"Write", "Edit", "apply_patch"}, tool) }

// command is the command line of a call to a shell tool; ok is false for any
// other call, and for a shell tool whose command cannot be told.
func (c ToolCall) command() (text string, ok bool) {
	tool := canonical(c.Tool)
	if tool != "Bash" && tool != "Monitor" {
		return "", false
	}
	if c.Input["command"] != nil && c.Input["cmd"] != nil {
		return "", false // which of the two runs is the harness's secret
	}
	for _, key := range []string{"command", "cmd"} {
		switch value := c.Input[key].(type) {
		case string:
			return value, true
		case []any:
			var words []string
			for _, v := range value {
				word, isText := v.(string)
				if !isText {
					return "", false
				}
				words = append(words, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
			}
			return strings.Join(words, " "), len(words) > 0
		}
	}
	return "", false
}

// dir is where a command runs: the call may name another directory than the
// session's. Of two, one is none that is known.
func (c ToolCall) dir() string {
	dir := c.Cwd
	for _, key := range []string{"cwd", "workdir", "working_directory", "dir_path", "directory"} {
		name, _ := c.Input[key].(string)
		switch {
		case name == "" || name == dir:
			continue
		case dir != c.Cwd:
			return "/nowhere"
		case !strings.HasPrefix(name, "/"):
			name = c.Cwd + "/" + name
		}
		dir = name
	}
	return dir
}

// paths are the paths that a call names, as it names them.
func (c ToolCall) paths() []string {
	var out []string
	add := func(p string) {
		p = strings.TrimSpace(p)
		if len(p) > 5 && strings.EqualFold(p[:5], "file:") {
			p = "/" + strings.TrimLeft(strings.TrimPrefix(p[5:], "//localhost"), "/")
			if decoded, err := url.PathUnescape(p); err == nil && decoded != p {
				out = append(out, decoded)
			}
		}
		if p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	tool := canonical(c.Tool)
	collect(c.Input, "", func(key, value string) {
		key = strings.ToLower(key)
		if strings.Contains(key, "path") || strings.Contains(key, "file") && key != "file_text" || strings.HasPrefix(key, "dir") || key == "uri" || key == "include" && tool == "read_many_files" {
			add(value)
		}
		for line := range strings.Lines(value) {
			what, p, _ := strings.Cut(strings.TrimSpace(line), ":")
			switch strings.ToLower(strings.Join(strings.Fields(strings.TrimPrefix(what, "***")), " ")) {
			case "add file", "update file", "delete file", "move to":
				if strings.HasPrefix(what, "***") && (tool == "apply_patch" || !reads(tool) && tool != "Write" && tool != "Edit") {
					add(p)
				}
			}
		}
	})
	if pattern, ok := c.Input["pattern"].(string); ok && tool == "Glob" {
		dir := "."
		if len(out) > 0 {
			dir = out[0]
		}
		if strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~") {
			add(pattern)
		} else {
			add(path.Join(dir, pattern))
		}
	} else if pattern, ok := c.Input["glob"].(string); ok && tool == "Grep" {
		dir := "."
		if len(out) > 0 {
			dir = out[0]
		}
		out = append(out, dir)
		add(dir + "/" + pattern)
	} else if len(out) == 0 && (tool == "Glob" || tool == "Grep" || tool == "ListDir") {
		add(".")
	}
	return out
}

// collect calls f with every string in an input and the key that it stands under.
func collect(v any, key string, f func(key, value string)) {
	switch v := v.(type) {
	case string:
		f(key, v)
	case []any:
		for _, e := range v {
			collect(e, key, f)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			collect(v[k], k, f)
		}
	}
}

// Argument is the input of a call to a tool that is about one thing: a command, a
// patch, a path.
func Argument(tool, about string) map[string]any {
	switch canonical(tool) {
	case "Bash", "Monitor":
		return map[string]any{"command": about}
	case "Glob":
		return map[string]any{"pattern": about}
	case "ListDir", "Grep":
		return map[string]any{"path": about}
	case "apply_patch":
		return map[string]any{"input": about}
	}
	return map[string]any{"file_path": about}
}
