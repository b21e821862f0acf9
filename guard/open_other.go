//go:build !linux && !darwin

package guard

import (
	"errors"
	"io/fs"
	"os"
)

// ErrPolicy is in every error by which a policy refuses a file.
var ErrPolicy = errors.New("refused by policy")

// OpenFile fails: there is no call here that opens a path without its links.
func (g *Guard) OpenFile(string, int, fs.FileMode) (*os.File, error) {
	return nil, errors.ErrUnsupported
}
