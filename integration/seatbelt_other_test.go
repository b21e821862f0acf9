//go:build !darwin

package integration

import (
	"errors"
	"runtime"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestSeatbelt stands for the tests in seatbelt_darwin_test.go.
func TestSeatbelt(t *testing.T) {
	testenv.Need(t, testenv.FacilitySeatbelt, errors.New("this is "+runtime.GOOS))
}
