package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// systemShells are those that a call may name.
var systemShells = []string{"", "bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh"}

// Directory returns where the command of a shell tool will run. An argument that is not
// known is an error: it may change what the command does, as an environment or another
// shell would, and with it a command that is rewritten is none that is confined. The
// directory is the right one then too, but for a call that names two.
func (c ToolCall) Directory() (dir string, err error) {
	dir = c.Cwd
	for _, name := range slices.Sorted(maps.Keys(c.Input)) {
		text, isText := c.Input[name].(string)
		if c.Input[name] == nil {
			continue
		}
		switch name {
		case "command", "cmd", "description", "timeout", "timeout_ms", "run_in_background", "is_background",
			"yield_time_ms", "max_output_tokens", "login", "tty", "persistent":
		case "sandbox_permissions", "justification", "with_escalated_permissions", "dangerouslyDisableSandbox":
			// What asks to leave the sandbox is asked about anyway.
		case "cwd", "workdir", "working_directory", "dir_path", "directory":
			switch {
			case text != "" && !strings.HasPrefix(text, "/"):
				text = c.Cwd + "/" + text
			case text == "":
				text = c.Cwd
			}
			if !isText || dir != c.Cwd && text != c.Cwd && text != dir {
				text, err = "/nowhere", fmt.Errorf("the argument %q is not a directory, or there are two", name)
			}
			if text != c.Cwd {
				dir = text
			}
		case "shell":
			if !isText || !slices.Contains(systemShells, text) {
				err = fmt.Errorf("the argument %q of a shell command is none of the system's", name)
			}
		default:
			err = fmt.Errorf("the argument %q of a shell command is not known", name)
		}
	}
	return dir, err
}
