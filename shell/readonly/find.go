package readonly

import (
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/shell"
)

var (
	findAlone = []string{
		"-a", "-and", "-o", "-or", "-not", "!", "(", ")", ",", "-true", "-false", "-empty", "-executable", "-readable", "-writable",
		"-print", "-print0", "-prune", "-quit", "-daystart", "-depth", "-d", "-mount", "-xdev", "-nouser", "-nogroup", "-ls", "-noleaf",
		"-follow", "-ignore_readdir_race", "-warn", "-nowarn",
	}
	findValued = []string{
		"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype", "-type", "-xtype", "-size",
		"-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer", "-cnewer", "-user", "-group", "-uid", "-gid", "-perm",
		"-links", "-inum", "-samefile", "-maxdepth", "-mindepth", "-lname", "-ilname", "-fstype", "-printf", "-used",
	}
)

// find knows the tests and the actions that print. -exec is as good as what it
// runs; what it finds is never known. -execdir looks a program up in the
// directory that find is in.
func find(r *run, c shell.Command, args []shell.Word) string {
	i := 0
	for i < len(args) && args[i].Known && slices.Contains([]string{"-H", "-L", "-P"}, args[i].Text) {
		i++
	}
	for ; i < len(args) && !isFindExpression(args[i]); i++ {
		if word := args[i]; !word.Known && (word.Split && !word.Glob || strings.IndexByte("*?[", word.Text[0]) >= 0) {
			return "where find starts is not known"
		}
	}
	regular := r.regular(args[:i], args[i:])
	runs := 0
	for ; i < len(args); i++ {
		word := args[i]
		switch {
		case !word.Known:
			return "the word " + word.Text + " of find is not known"
		case slices.Contains(findAlone, word.Text):
		case slices.Contains(findValued, word.Text) || strings.HasPrefix(word.Text, "-newer") && len(word.Text) == 8:
			if i++; i >= len(args) || args[i].Split {
				return "the value of " + word.Text + " is not known"
			}
		case word.Text == "-exec":
			end := shell.FindEnd(args, i)
			for _, word := range args[i:end] {
				if !word.Known {
					return "the word " + word.Text + " may end what find runs"
				}
			}
			i = end
			if runs++; runs > len(c.Inner) {
				return "what find runs is not known"
			}
		default:
			return "find " + word.Text + " is not known to be read-only"
		}
	}
	if runs != len(c.Inner) {
		return "what find runs is not known"
	}
	for _, inner := range c.Inner {
		if regular {
			inner.Argv = slices.Clone(inner.Argv)
			for i, word := range inner.Argv {
				if word.Text == "{}" {
					inner.Argv[i].Stream = true // a file in the roots, and no option
				}
			}
		}
		if why := r.call(inner); why != "" {
			return why
		}
	}
	return ""
}

// regular reports whether all that find can find are regular files in the roots:
// it starts there, follows no link, and says -type f where nothing goes past it.
func (r *run) regular(starts, expression []shell.Word) bool {
	if len(starts) == 0 {
		return false
	}
	for _, word := range starts {
		if !word.Known || word.Text == "" || strings.IndexByte("-+@", word.Text[0]) >= 0 || r.content(word, true) != "" {
			return false
		}
	}
	typed := false
	for i := 0; i < len(expression); i++ {
		switch text := expression[i].Text; {
		case slices.Contains([]string{"-o", "-or", ",", "!", "-not", "(", "-follow"}, text):
			return false
		case text == "-exec" && !typed:
			return false
		case text == "-exec":
			i = shell.FindEnd(expression, i)
		case text == "-type":
			typed = typed || i+1 < len(expression) && expression[i+1].Known && expression[i+1].Text == "f"
			i++
		case slices.Contains(findValued, text):
			i++
		}
	}
	return typed
}

func isFindExpression(word shell.Word) bool {
	return word.Known && (strings.HasPrefix(word.Text, "-") || word.Text == "(" || word.Text == "!" || word.Text == "," || word.Text == ")")
}
