package rules

import (
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
	{"WebFetch", "web_fetch"},
	{"WebSearch", "web_search", "google_web_search"},
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

// namesTool reports whether the name in a rule is a tool's, * being any text. The name of an
// MCP server alone is that of all its tools.
func namesTool(name, tool string) bool {
	server, isMCP := strings.CutPrefix(name, "mcp__")
	return wildcard(name, tool) || isMCP && !strings.Contains(server, "__") && strings.HasPrefix(tool, name+"__")
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
