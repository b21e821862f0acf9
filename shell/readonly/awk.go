package readonly

import (
	"strings"

	"github.com/letta-confine/letta-confine/shell"
)

// awk knows programs that only print to standard output. Strings and regular
// expressions are not told from the rest, since where a slash begins one is up to
// what stands before it: what could run, write or open a file must be nowhere.
func awk(r *run, c shell.Command, args []shell.Word) string {
	s := &scan{model: model{options: "-F: -v:", kind: pattern, first: true}, r: r, name: c.Argv[0].Text, seen: map[string]bool{}, ended: -1}
	if why := s.read(args); why != "" {
		return why
	}
	if len(s.operands) == 0 || !s.operands[0].Known || !awkProgram(s.operands[0].Text) {
		return "the program of awk is not known to be read-only"
	}
	return s.judge()
}

// awkProgram reports whether a program has no pipe, no function that runs or reads
// something, no operands of its own making, no extension of gawk's, and nothing
// after a print that could be its redirection.
func awkProgram(s string) bool {
	for _, word := range []string{"system", "getline", "ARGV", "ARGC", "SYMTAB", "PROCINFO", "@", "\\\n"} {
		if strings.Contains(s, word) {
			return false
		}
	}
	if at := strings.Index(s, "print"); at >= 0 && strings.Contains(s[at:], ">") {
		return false
	}
	return !strings.Contains(strings.ReplaceAll(s, "||", ""), "|")
}
