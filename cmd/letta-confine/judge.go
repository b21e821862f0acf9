//go:build !launcher

package main

import (
	"fmt"
	"slices"
	"strings"
)

// checks is letta-confine check: it answers a question about what somebody means
// to do, and does none of it. Each kind has a file judge_KIND.go.
func checks(args []string) (int, error) {
	kinds := map[string]func(args []string) (int, error){
		"commit":  checkCommit,
		"hook":    checkHook,
		"path":    checkPath,
		"rules":   checkRules,
		"secrets": checkSecrets,
		"shell":   checkShell,
	}
	if len(args) > 0 {
		if kind, ok := kinds[args[0]]; ok {
			return kind(args[1:])
		}
	}
	words := make([]string, 0, len(kinds))
	for word := range kinds {
		words = append(words, word)
	}
	slices.Sort(words)
	return 0, usageError(fmt.Sprintf("check what? want %s", strings.Join(words, ", ")))
}
