//go:build !launcher

package main

import (
	"fmt"
	"slices"
	"strings"
)

const checkUsage = `usage: letta-confine check KIND [flags] [argument ...]

Answers a question about what somebody means to do, and does none of it.

  path      may a file tool read or write these paths?
  hook      the answer to a harness that asks before it runs a tool
  shell     does this command line do nothing but read?
  rules     what do permission rules say of a tool call?
  commit    may what is staged in a memory repository be committed?
  secrets   is there a secret in these files, or on standard input?

Each has its own --help; all of it is in letta-confine-check(1).

exit status: 0 allow, 2 deny, 3 ask, 125 the check failed
`

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
			status, err := kind(args[1:])
			if hintOf(err) == usageHint {
				err = withHint(err, "see letta-confine check "+args[0]+" --help")
			}
			return status, err
		}
		if args[0] == "--help" || args[0] == "-h" || args[0] == "help" {
			fmt.Print(checkUsage)
			return 0, nil
		}
	}
	words := make([]string, 0, len(kinds))
	for word := range kinds {
		words = append(words, word)
	}
	slices.Sort(words)
	return 0, withHint(fmt.Errorf("check what? want %s", strings.Join(words, ", ")), "see letta-confine check --help")
}
