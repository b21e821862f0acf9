//go:build (linux || darwin) && !launcher

package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/launch"
)

// promptValue reads a line from the terminal, which does not show it. A signal that
// ends the program gives the terminal back first.
func promptValue(ref string, old *unix.Termios) (string, error) {
	quiet := *old
	quiet.Lflag &^= unix.ECHO
	quiet.Lflag |= unix.ICANON | unix.ISIG
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGTSTP)
	defer signal.Stop(signals)
	if err := unix.IoctlSetTermios(0, setTerminal, &quiet); err != nil {
		return "", fmt.Errorf("terminal: %w", err)
	}
	restore := func() { unix.IoctlSetTermios(0, setTerminal, old); complain("") }
	go func() {
		if _, ok := <-signals; ok {
			restore()
			os.Exit(launch.ExitFailure)
		}
	}()
	defer restore()
	os.Stderr.WriteString("value of " + ref + ", which is not shown: ") // the answer is on the same line
	line := make([]byte, 64<<10)                                        // a terminal's line is shorter
	n, err := unix.Read(0, line)
	if err != nil {
		return "", fmt.Errorf("terminal: %w", err)
	}
	return strings.TrimSuffix(string(line[:n]), "\n"), nil
}
