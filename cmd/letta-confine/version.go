package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/verdict"
)

// schemaVersion is that of every JSON document that the program prints.
const schemaVersion = 1

// versions prints the version; for programs with what they can rely on.
func versions(args []string) (int, error) {
	o, err := parse(args)
	switch {
	case err != nil:
		return 0, err
	case len(o.args) > 0:
		return 0, usageError(fmt.Sprintf("version takes no argument, and was given %q", o.args[0]))
	case !o.json:
		return 0, printText("letta-confine " + version() + "\n")
	}
	names := make([]string, 0, len(flags))
	for _, f := range flags {
		names = append(names, f.name)
	}
	return 0, printJSON(map[string]any{
		"schema":   schemaVersion,
		"version":  version(),
		"system":   runtime.GOOS,
		"schemas":  map[string]int{"policy": policy.Version, "report": schemaVersion, "plan": schemaVersion, "audit": schemaVersion, "probe": schemaVersion, "explain": schemaVersion, "check": verdict.Schema},
		"backends": backendNames(),
		"features": map[string][]string{"subcommands": subcommands, "flags": names},
	})
}

// version is what the build says of itself.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
