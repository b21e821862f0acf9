//go:build launcher

package main

// What asks is the companion's: a question waits for a person, or for a program that
// starts, and the hash that binds it to a command would be linked into every start
// (docs/decisions/0031). The companion runs the command too, where it may, and
// speaks for the launcher.

func approve(args []string) (int, error)             { return speak("approve", args) }
func presets(args []string) (int, error)             { return speak("preset", args) }
func (*options) widening(args []string) (int, error) { return speak(args[0], args[1:]) }

func speak(word string, args []string) (int, error) {
	self, err := ownProgram()
	if err == nil {
		err = handOver(self, word, args)
	}
	return 0, err
}
