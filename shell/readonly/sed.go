package readonly

import (
	"strings"

	"github.com/letta-confine/letta-confine/shell"
)

// sed knows the commands that print and change the text in memory.
func sed(r *run, _ shell.Command, args []shell.Word) string {
	m := model{options: "-nErsuz -l: -e: --quiet --silent --regexp-extended --separate --unbuffered --null-data --posix --debug --sandbox " +
		"--line-length= --expression=" + common, kind: pattern}
	var scripts []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		if !word.Known {
			continue // the model looks at it
		}
		if word.Text == "--" {
			break
		}
		script, given := "", false
		if rest, ok := strings.CutPrefix(word.Text, "--expression"); ok {
			script, given = strings.TrimPrefix(rest, "="), true
		} else if strings.HasPrefix(word.Text, "-") && !strings.HasPrefix(word.Text, "--") {
			if at := strings.IndexByte(word.Text, 'e'); at > 0 {
				script, given = word.Text[at+1:], true
			}
		}
		if given && script == "" && i+1 < len(args) {
			i++
			if !args[i].Known {
				return "the script of sed is not known"
			}
			script = args[i].Text
		}
		if given {
			scripts = append(scripts, script)
		}
	}
	s := &scan{model: m, r: r, name: "sed", seen: map[string]bool{}, ended: -1}
	if why := s.read(args); why != "" {
		return why
	}
	if s.seen["--expression"] {
		s.seen["-e"] = true
	}
	if !s.seen["-e"] {
		if len(s.operands) == 0 {
			return ""
		}
		if !s.operands[0].Known {
			return "the script of sed is not known"
		}
		scripts = append(scripts, s.operands[0].Text)
	}
	for _, script := range scripts {
		if !sedScript(script) {
			return "the script of sed is not known to be read-only"
		}
	}
	return s.judge()
}

// sedScript reports whether a script has only commands that write and run
// nothing and read no other file.
func sedScript(s string) bool {
	for {
		s = strings.TrimLeft(s, " \t\n;}")
		if s == "" {
			return true
		}
		var ok bool
		if s, ok = sedAddress(s); !ok {
			return false
		}
		s = strings.TrimLeft(s, " \t!")
		if s == "" {
			return false
		}
		command := s[0]
		s = s[1:]
		switch command {
		case '{':
			continue
		case 'p', 'd', '=', 'n', 'N', 'D', 'P', 'h', 'H', 'g', 'G', 'x', 'z', 'F':
		case 'q', 'Q', 'l':
			s = strings.TrimLeft(s, " 0123456789")
		case '#':
			_, s, _ = strings.Cut(s, "\n")
			continue
		case 'b', 't', 'T', ':':
			end := strings.IndexAny(s, ";\n}")
			if end < 0 {
				end = len(s)
			}
			s = s[end:]
		case 'a', 'i', 'c':
			// The text goes to the end of the line; one that goes on is not followed.
			text, rest, _ := strings.Cut(s, "\n")
			if strings.Contains(text, `\`) {
				return false
			}
			s = rest
			continue
		case 's':
			if s, ok = sedParts(s, 2); !ok {
				return false
			}
			s = strings.TrimLeft(s, "gpiI0123456789")
		case 'y':
			if s, ok = sedParts(s, 2); !ok {
				return false
			}
		default:
			return false
		}
		s = strings.TrimLeft(s, " \t")
		if s != "" && strings.IndexByte(";\n}#", s[0]) < 0 {
			return false
		}
	}
}

// sedAddress skips the addresses before a command.
func sedAddress(s string) (string, bool) {
	for {
		switch {
		case s == "":
			return "", true
		case s[0] == '/':
			var ok bool
			if s, ok = sedParts(s, 1); !ok {
				return "", false
			}
			s = strings.TrimLeft(s, "IM")
		case s[0] == '\\':
			if len(s) < 2 || s[1] == '\n' || s[1] == '\\' {
				return "", false
			}
			var ok bool
			if s, ok = sedParts(s[1:], 1); !ok {
				return "", false
			}
			s = strings.TrimLeft(s, "IM")
		default:
			s = strings.TrimLeft(s, "0123456789$~+")
		}
		s = strings.TrimLeft(s, " \t")
		if !strings.HasPrefix(s, ",") {
			return s, true
		}
		s = strings.TrimLeft(s[1:], " \t")
	}
}

// sedParts skips n texts that the first byte of s delimits. The seds do not agree
// whether a delimiter in a bracket expression ends the text, so there it is
// refused.
func sedParts(s string, n int) (string, bool) {
	if s == "" || s[0] == '\n' || s[0] == '\\' || s[0] >= 0x80 {
		return "", false
	}
	delimiter, bracket, regexp := s[0], false, true
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\n': // which ends a label in some seds, and the command here
			return "", false
		case s[i] == '\\':
			i++
		case s[i] == delimiter:
			if bracket {
				return "", false
			}
			if n--; n == 0 {
				return s[i+1:], true
			}
			regexp = false
		case s[i] == '[':
			bracket = regexp
		case s[i] == ']':
			bracket = false
		}
	}
	return "", false
}
