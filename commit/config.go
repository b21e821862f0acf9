package commit

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// configName is the file in which a memory repository keeps rules for itself.
const configName = ".memfs.config.json"

// configDirs are where it may lie.
var configDirs = []string{"", "memory/"}

// isConfig reports whether a path is that of the configuration on a file system
// that folds case too.
func isConfig(name string) bool {
	return slices.ContainsFunc(configDirs, func(dir string) bool { return strings.EqualFold(name, dir+configName) })
}

// readOnlyFiles reads the patterns of the files that only a person may let change.
// Other keys are letta-code's business.
func readOnlyFiles(dir string, text []byte) ([]string, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil || keys == nil {
		return nil, errors.New("it is not a JSON object")
	}
	var list []string
	for key, raw := range keys {
		switch {
		case key == "readOnlyFiles":
			if err := json.Unmarshal(raw, &list); err != nil || list == nil {
				return nil, errors.New("readOnlyFiles is not a list of strings")
			}
		case strings.EqualFold(key, "readOnlyFiles"):
			return nil, fmt.Errorf("unknown key %q", key)
		case key == "version" && string(raw) != "1":
			return nil, errors.New("the version is not 1")
		}
	}
	for i, pattern := range list {
		clean := strings.TrimPrefix(path.Clean(pattern), "/")
		if _, err := path.Match(clean, ""); err != nil || pattern == "" || clean == ".." || strings.HasPrefix(clean, "../") {
			return nil, fmt.Errorf("readOnlyFiles: %q names no file", pattern)
		}
		list[i] = strings.ToLower(path.Join(dir, clean))
	}
	return list, nil
}

// covers reports whether a pattern names a path or a directory above it. In a
// pattern * stays in one name, and ** is any number of them.
func covers(pattern, name string) bool {
	if pattern == "." {
		return true
	}
	return match(strings.Split(pattern, "/"), strings.Split(strings.ToLower(name), "/"))
}

func match(pattern, name []string) bool {
	if len(pattern) == 0 {
		return true // what is left of the name lies below
	}
	if pattern[0] == "**" {
		return match(pattern[1:], name) && len(name) > 0 || len(name) > 0 && match(pattern, name[1:])
	}
	if len(name) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], name[0])
	return (ok || err != nil) && match(pattern[1:], name[1:])
}
