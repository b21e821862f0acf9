package main

import (
	"errors"
	"fmt"

	"github.com/letta-confine/letta-confine/probe"
)

// What the program answers on a system for which it has no backend: Windows, the
// BSDs and all others that are neither Linux nor macOS. It has no build tag, so that
// the answer is tested where the tests run. The checks that need no backend work
// there as everywhere.

// platformUnsupported is the code of such a system.
const platformUnsupported = "platform-unsupported"

// platformError refuses a run: to run the command unconfined is never a fallback.
func platformError(system string) error {
	return withHint(errors.New(platformUnsupported+": no backend confines commands on "+system), "run it on Linux or macOS")
}

// platformAnswer is what probe says there.
type platformAnswer struct {
	Schema int `json:"schema"`
	probe.Host
	Backends []string `json:"backends"` // empty
	Code     string   `json:"code"`
	Reason   string   `json:"reason"`
	Hint     string   `json:"hint"`
}

func platform(system string, uid int) platformAnswer {
	err := platformError(system)
	return platformAnswer{schemaVersion, probe.Host{System: system, UID: uid}, []string{}, platformUnsupported, err.Error(), hintOf(err)}
}

// probeUnusable is the exit status of probe where no backend confines anything.
const probeUnusable = 2

// print says it, and returns the exit status.
func (p platformAnswer) print(args []string) (int, error) {
	o, err := parse(args)
	switch {
	case err != nil:
		return 0, err
	case len(o.args) > 0:
		return 0, probeArgument(o.args[0])
	case o.json:
		return probeUnusable, printJSON(p)
	}
	return probeUnusable, printText(p.Host.Lines()[0] + "\n" + p.Reason + "\n  hint: " + p.Hint + "\n")
}

func probeArgument(word string) error {
	return usageError(fmt.Sprintf("probe takes no argument, and was given %q", word))
}
