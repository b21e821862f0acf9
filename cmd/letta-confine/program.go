package main

import (
	"os"
	"path/filepath"
)

// companion is the program that does what no command's start needs, beside this one,
// which is built without it: the parsers and patterns that the checks need would be
// mapped, and their inits run, before every command (docs/decisions/0018).
const companion = "letta-confine-check"

// ownProgram returns the path of the launcher. To the companion, where that speaks for
// the launcher that started it, it is the name by which it was started.
func ownProgram() (string, error) {
	self, err := os.Executable()
	if err == nil && filepath.Base(self) == companion && filepath.IsAbs(os.Args[0]) {
		return os.Args[0], nil
	}
	return self, err
}
