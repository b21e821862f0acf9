//go:build !linux && !darwin

package main

import (
	"errors"
	"runtime"
)

// errPlatform is the answer of a system for which this build has no backend: a
// refusal, because to run the command unconfined is never a fallback.
var errPlatform = withHint(errors.New("platform-unsupported: no backend confines commands on "+runtime.GOOS),
	"run it on Linux or macOS")

func stage([]string) (int, bool)      { return 0, false }
func refuseSetID() error              { return nil }
func confine([]string) (int, error)   { return 0, errPlatform }
func plan([]string) (int, error)      { return 0, errPlatform }
func bwrapArgv([]string) int          { return failQuietly(errPlatform) }
func explain([]string) (int, error)   { return 0, errPlatform }
func probeHost([]string) (int, error) { return 0, errPlatform }
func backendNames() []string          { return []string{} }
func checkPath([]string) (int, error) { return 0, errPlatform }
func checkHook([]string) (int, error) { return 0, errPlatform }
