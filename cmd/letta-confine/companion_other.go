//go:build !linux && !darwin && !launcher

package main

func approve([]string) (int, error)           { return 0, errPlatform }
func presets([]string) (int, error)           { return 0, errPlatform }
func manageCredentials([]string) (int, error) { return 0, errPlatform }
