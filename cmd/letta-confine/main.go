// Letta-confine runs a command that can read and write only what a policy lets
// it. See usage.go for the command line and docs/ for the rest.
package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/internal/flagset"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/verdict"
)

func main() {
	// Before anything else, because that face has none of the launcher's words.
	if args, ok := asLandlockRun(os.Args); ok {
		os.Exit(landlockRun(args))
	}
	os.Exit(run(os.Args[min(1, len(os.Args)):])) // before Linux 5.18 there may be no name either
}

// bwrapFace is the first word of the face that takes bubblewrap's arguments.
const bwrapFace = "bwrap-argv"

// asLandlockRun returns the arguments for landlock-run where the program is called
// by that name, or with it as the first word.
func asLandlockRun(argv []string) (args []string, ok bool) {
	const name = "landlock-run"
	switch {
	case len(argv) > 0 && path.Base(argv[0]) == name:
		return argv[1:], true
	case len(argv) > 1 && argv[1] == name:
		return argv[2:], true
	}
	return nil, false
}

// run is the whole program. It returns the exit status; a panic is a failure
// of the launcher like any other, and never a status that a caller could take
// for the command's.
func run(args []string) (status int) {
	if len(args) > 1 && args[0] == "check" && args[1] == "hook" {
		// A harness runs the tool where its hook ends with a status that it does
		// not know: 2 is a denial to all of them.
		defer func() {
			if status == launch.ExitFailure {
				status = verdict.Deny.Status()
			}
		}()
	}
	defer func() {
		if p := recover(); p != nil {
			status = fail(fmt.Errorf("internal error: %v", p))
			if os.Getenv("LETTA_CONFINE_TRACE") == "1" {
				debug.PrintStack()
			}
		}
	}()
	// Before the stages, too: whoever starts one by its path brings the plan.
	if err := refuseSetID(); err != nil {
		setSpeech(args)
		return fail(err)
	}
	if status, ok := stage(args); ok {
		return status
	}
	args = helpAsFlag(args)
	setSpeech(args)
	status, err := dispatch(args)
	switch {
	case errors.Is(err, flagset.ErrHelp):
		fmt.Print(helpFor(args[0]))
		return 0
	case err != nil && hintOf(err) == usageHint:
		return fail(withHint(err, usageHintOf(args)))
	case err != nil:
		return fail(err)
	}
	return status
}

// dispatch runs the subcommand, or the launcher itself when the first word is a
// flag. Any other first word is an error: a command needs the "--" before it, or
// a typing mistake in a subcommand would become a program to run.
func dispatch(args []string) (int, error) {
	if len(args) == 0 {
		return 0, usageError("no command")
	}
	switch args[0] {
	case "plan":
		return plan(args[1:])
	case "explain":
		return explain(args[1:])
	case "check":
		return checks(args[1:])
	case "credentials":
		return manageCredentials(args[1:])
	case "learn":
		return learnPolicy(args[1:])
	case "probe":
		return probeHost(args[1:])
	case "doctor":
		return probeHost(append([]string{"--self-test"}, args[1:]...))
	case "approve":
		return approve(args[1:])
	case "preset":
		return presets(args[1:])
	case "completion":
		return completion(args[1:])
	case bwrapFace:
		return bwrapArgv(args[1:]), nil
	case "version", "--version":
		return versions(args[1:])
	case "help", "--help", "-h":
		fmt.Print(usage)
		return 0, nil
	}
	if !strings.HasPrefix(args[0], "-") {
		return 0, usageError(fmt.Sprintf("unknown subcommand %q", args[0]))
	}
	return confine(args)
}

// haveHelp are the subcommands whose --help is their own.
var haveHelp = []string{"check", "credentials", "doctor", "explain", "learn", "plan", "probe"}

// helpAsFlag returns "plan --help" for "help plan", "check path --help" for "help check
// path", and "--help" where a subcommand that has no flag before its first word is asked
// for it. What else follows is dropped, because a "--" would begin a command.
func helpAsFlag(args []string) []string {
	switch {
	case len(args) < 2:
		return args
	case args[0] == "preset" || args[0] == "completion":
		if args[1] == "--help" || args[1] == "-h" {
			return args[1:2]
		}
		return args
	case args[0] != "help" || !slices.Contains(haveHelp, args[1]):
		return args
	case args[1] == "check" && len(args) > 2:
		return []string{"check", args[2], "--help"}
	}
	return []string{args[1], "--help"}
}

// usageHintOf returns the cure for a command line that is none: the usage, or which help
// to read where the usage of a run says nothing.
func usageHintOf(args []string) string {
	switch {
	case len(args) > 0 && slices.Contains(haveHelp, args[0]):
		return "see letta-confine " + args[0] + " --help"
	case len(args) > 0 && slices.Contains(subcommands, args[0]):
		return "see letta-confine --help"
	}
	return usageHint
}

// helpFor returns what --help prints after the first word.
func helpFor(word string) string {
	switch word {
	case "plan":
		return planUsage
	case "explain":
		return explainUsage
	case "probe", "doctor":
		return probeUsage
	}
	return usage
}

// exitStatus returns the status for an error that ends the program.
func exitStatus(err error) int {
	if failed, ok := errors.AsType[*launch.ExecError](err); ok {
		return failed.Status
	}
	return launch.ExitFailure
}
