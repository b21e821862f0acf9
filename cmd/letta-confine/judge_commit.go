//go:build !launcher

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"

	"github.com/letta-confine/letta-confine/commit"
	"github.com/letta-confine/letta-confine/internal/flagset"
	"github.com/letta-confine/letta-confine/verdict"
)

const commitUsage = `usage: letta-confine check commit [flags]

Judges what is staged in a memory repository of letta-code, before it is committed.

  --repo DIR                the repository; the working directory by default
  --git-dir DIR             its .git, where that cannot be found from DIR
  --index FILE              the index that is about to be committed
  --gitleaks-config FILE    add the rules of a gitleaks configuration
  --allow-list FILE         let pass what has one of these SHA-256 sums, one a line
  --print-hook              print a pre-commit hook, and check nothing
  --json                    print JSON

LETTA_CONFINE_APPROVE_COMMIT=1 is a person's approval of what only a person may
approve. Each use is said on standard error; a confined run cannot approve.

exit status: 0 may be committed; 2 not; 3 a person must look; 125 the check failed
`

// approvalVar is the variable by which a person approves.
const approvalVar = "LETTA_CONFINE_APPROVE_COMMIT"

//go:embed pre-commit.sh
var preCommit string

func checkCommit(args []string) (int, error) {
	set := &flagset.Set{Name: "commit", Interspersed: true}
	var given scannerFlags
	given.add(set)
	var repo commit.Repo
	set.StringVar(&repo.Dir, "repo")
	set.StringVar(&repo.GitDir, "git-dir")
	set.StringVar(&repo.Index, "index")
	var printHook, asJSON bool
	set.BoolVar(&printHook, "print-hook")
	set.BoolVar(&asJSON, "json")
	if done, err := parseKind(set, commitUsage, args); done || err != nil {
		return 0, err
	}
	if len(set.Args()) > 0 {
		return 0, withHint(errors.New("check commit takes no argument"), "the repository is given as --repo DIR")
	}
	if printHook {
		_, err := os.Stdout.WriteString(preCommit)
		return 0, err
	}
	scanner, err := given.scanner()
	if err != nil {
		return 0, err
	}
	found, err := commit.Judge(repo, scanner, approved())
	if errors.Is(err, commit.ErrNoRepository) {
		return 0, withHint(err, "start in one, or name it with --repo DIR or --git-dir DIR")
	}
	if err != nil {
		return 0, err
	}
	v := verdict.Verdict{Decision: verdict.Allow, Code: "clean", Reason: "what is staged may be committed"}
	var lines []string
	for _, f := range found {
		v = v.Stricter(f.Verdict)
		if f.Approved {
			warn(fmt.Sprintf("approved by %s: %q: %s", approvalVar, f.Path, f.Reason))
		}
		lines = append(lines, findingLine(f.Decision, f.Path, f.Line, f.Column, f.Reason))
	}
	if found == nil {
		found = []commit.Finding{}
	}
	return v.Decision.Status(), answer(asJSON, v, found, lines)
}

// approved reports whether a person approves. The environment alone is not
// believed: whoever set the variable can have taken LETTA_CONFINE away.
func approved() bool {
	value := os.Getenv(approvalVar)
	if value == "" {
		return false
	}
	ignored := ""
	switch {
	case value != "1":
		ignored = "it is not 1"
	case os.Getenv("LETTA_CONFINE") != "" || os.Getenv("LETTA_SANDBOX") != "":
		ignored = "this is a confined run"
	case maybeConfined():
		ignored = "this process may be confined"
	default:
		return true
	}
	warn(approvalVar + " is ignored: " + ignored)
	return false
}
