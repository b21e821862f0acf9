//go:build !linux && !darwin

package main

import (
	"os"
	"runtime"
)

var errPlatform = platformError(runtime.GOOS)

func stage([]string) (int, bool)      { return 0, false }
func refuseSetID() error              { return nil }
func confine([]string) (int, error)   { return 0, errPlatform }
func plan([]string) (int, error)      { return 0, errPlatform }
func bwrapArgv([]string) int          { return failQuietly(errPlatform) }
func explain([]string) (int, error)   { return 0, errPlatform }
func backendNames() []string          { return []string{} }
func checkPath([]string) (int, error) { return 0, errPlatform }
func checkHook([]string) (int, error) { return 0, errPlatform }

func probeHost(args []string) (int, error) { return platform(runtime.GOOS, os.Getuid()).print(args) }
