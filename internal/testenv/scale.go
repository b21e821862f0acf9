package testenv

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Span returns how long a test with an open end goes on: the duration in the
// variable, as time.ParseDuration reads it, or usual.
func Span(t testing.TB, variable string, usual time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Fatalf("%s is %q, want a duration such as 10s", variable, text)
	}
	return d
}

// Count returns how often a test with an open end tries: the number in the
// variable, or usual.
func Count(t testing.TB, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, want a number above 0", variable, text)
	}
	return n
}
