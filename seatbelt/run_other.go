//go:build !linux && !darwin

package seatbelt

import "errors"

// Exec needs macOS and returns errors.ErrUnsupported.
func Exec(string, Plan, []string, []string) error { return errors.ErrUnsupported }

// Try needs macOS and returns errors.ErrUnsupported.
func Try(string, Plan, []string, []string) error { return errors.ErrUnsupported }
