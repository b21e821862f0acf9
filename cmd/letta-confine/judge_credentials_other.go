//go:build !linux && !darwin && !launcher

package main

func manageCredentials([]string) (int, error) { return 0, errPlatform }
