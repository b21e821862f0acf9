//go:build !darwin

package seatbelt

import "errors"

// Exec needs macOS and returns errors.ErrUnsupported.
func Exec(Plan, []string, []string) error { return errors.ErrUnsupported }

// KernelPath needs macOS and returns errors.ErrUnsupported.
func KernelPath(string) (string, error) { return "", errors.ErrUnsupported }
