package main

import (
	"os"
	"path/filepath"
)

// companion is the program that does what no command's start needs, beside this one,
// which is built without it: the parsers and patterns that the checks need would be
// mapped, and their inits run, before every command (docs/decisions/0018).
const companion = "letta-confine-check"

// own is what ownProgram found; it is a look into /proc, which a start needs twice.
var own struct {
	path string
	err  error
}

// ownProgram returns the path of the launcher. To the companion, where that speaks for
// the launcher that started it, it is the name by which it was started.
func ownProgram() (string, error) {
	if own.path == "" && own.err == nil {
		own.path, own.err = os.Executable()
		if filepath.Base(own.path) == companion && filepath.IsAbs(os.Args[0]) {
			own.path = os.Args[0]
		}
	}
	return own.path, own.err
}

// ownPrograms returns the launcher, and its companion where it is there. That is
// trusted as much: it judges commands, asks, keeps credentials, and runs commands too.
func ownPrograms() []string {
	self, err := ownProgram()
	if err != nil {
		return nil
	}
	beside := filepath.Join(filepath.Dir(self), companion)
	if _, err := os.Lstat(beside); err != nil {
		return []string{self}
	}
	return []string{self, beside}
}
