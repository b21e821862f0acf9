package readonly

import (
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/shell"
)

// bare is env and command: alone they show something, else they are wrappers.
func bare(r *run, c shell.Command, args []shell.Word) string {
	switch {
	case c.Wrapper:
		return r.wrapped(c)
	case len(args) == 0:
		return ""
	case !args[0].Known:
		return "the word " + args[0].Text + " is not known"
	case len(args) == 1 && slices.Contains([]string{"--help", "--version", "-0", "--null"}, args[0].Text):
		return ""
	case c.Argv[0].Text == "command" && (args[0].Text == "-v" || args[0].Text == "-V"):
		return ""
	}
	return "what " + c.Argv[0].Text + " runs is not known"
}

// printf with -v evaluates the name of the variable, and bash's sets one by %n.
func printf(_ *run, _ shell.Command, args []shell.Word) string {
	ended := len(args) > 0 && args[0].Known && args[0].Text == "--"
	if ended {
		args = args[1:]
	}
	if len(args) > 0 && (!args[0].Known || strings.HasPrefix(args[0].Text, "-") && !ended) {
		return "the format of printf is not known"
	}
	if len(args) > 0 {
		for _, directive := range strings.Split(strings.ReplaceAll(args[0].Text, "%%", ""), "%")[1:] {
			if strings.HasPrefix(strings.TrimLeft(directive, "#0-+ '*.123456789hlLjztq"), "n") {
				return "printf %n sets a variable"
			}
		}
	}
	for _, word := range args { // the printf of ksh evaluates numbers, subscripts too
		if word.Known && strings.Contains(word.Text, "[") && strings.ContainsAny(word.Text, "$`") {
			return "printf may evaluate " + word.Text
		}
	}
	return ""
}

// date sets the clock unless what it is given is a format.
func date(r *run, _ shell.Command, args []shell.Word) string {
	m := model{options: "-uRjn -d: -I? -r@ --date= --utc --universal --iso-8601? --rfc-3339= --rfc-email --reference@" + common, kind: text}
	for _, word := range args {
		if !word.Known {
			return "a word of date is not known"
		}
	}
	s := &scan{model: m, r: r, name: "date", seen: map[string]bool{}, ended: -1}
	if why := s.read(args); why != "" {
		return why
	}
	for _, word := range s.operands {
		if !strings.HasPrefix(word.Text, "+") {
			return "date " + word.Text + " sets the clock"
		}
	}
	return s.judge()
}

// read sets variables of the shell; those with a meaning must not be among them.
func read(_ *run, _ shell.Command, args []shell.Word) string {
	for _, word := range args {
		name := word.Text
		if !word.Known || name != "-r" && (strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" ||
			strings.Contains(name, "path") || strings.Contains(name, "proxy") || name == "histchars" || name == "auto_resume") {
			return "read " + name + " is not known to be read-only"
		}
	}
	return ""
}

// test knows the tests of one file or string and of two strings. Others evaluate
// subscripts, and a word that may be several could spell one.
func test(_ *run, c shell.Command, args []shell.Word) string {
	if c.Argv[0].Text == "[" {
		if len(args) == 0 || args[len(args)-1].Text != "]" {
			return "[ without ]"
		}
		args = args[:len(args)-1]
	}
	for _, word := range args {
		if word.Split {
			return "the word " + word.Text + " of a test may be several"
		}
	}
	if len(args) > 0 && args[0].Known && args[0].Text == "!" {
		args = args[1:]
	}
	unary := []string{"-e", "-f", "-d", "-s", "-L", "-h", "-r", "-w", "-x", "-z", "-n", "-p", "-S", "-b", "-c"}
	numeric := []string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
	binary := append([]string{"=", "==", "!=", "-nt", "-ot", "-ef"}, numeric...)
	switch {
	case len(args) == 3 && args[1].Known && slices.Contains(numeric, args[1].Text) && (evaluated(args[0]) || evaluated(args[2])):
		return "a test that evaluates arithmetic"
	case len(args) <= 1,
		len(args) == 2 && args[0].Known && slices.Contains(unary, args[0].Text),
		len(args) == 3 && args[1].Known && slices.Contains(binary, args[1].Text):
		return ""
	}
	return "a test that is not known to be read-only"
}

// evaluated reports whether a shell of ksh's line, as sh is on some systems, takes
// the operand of a comparison of numbers for an expression, which can run commands.
func evaluated(word shell.Word) bool {
	return word.Known && strings.Trim(word.Text, "+-0123456789") != ""
}

// set knows the options that end a script early or show what it does.
func set(_ *run, _ shell.Command, args []shell.Word) string {
	for i, word := range args {
		option := len(word.Text) > 1 && strings.IndexByte("-+", word.Text[0]) >= 0 && strings.Trim(word.Text[1:], "euxvo") == ""
		value := word.Text == "pipefail" && i > 0 && strings.HasSuffix(args[i-1].Text, "o")
		if !word.Known || !option && !value {
			return "set " + word.Text + " is not known to be read-only"
		}
	}
	return ""
}

// query is jq and yq: a program, then files. A program can load others.
func query(r *run, c shell.Command, args []shell.Word) string {
	m := model{options: "-rcenSsajCM --raw-output --compact-output --exit-status --null-input --sort-keys --slurp --raw-input --ascii-output " +
		"--join-output --color-output --monochrome-output --tab --indent= --seq --stream" + common, kind: pattern}
	if c.Argv[0].Text == "jq" {
		args = withoutVariables(args)
	}
	if c.Argv[0].Text == "yq" {
		m.options = "-reCMNn -P --prettyPrint --unwrapScalar --exit-status --colors --no-colors --no-doc" + common
	}
	for _, word := range args {
		for _, load := range []string{"import", "include", "load", "eval", "env", "$__prog"} {
			// A field of jq's, .load, does not load; yq is read as a text.
			text := word.Text
			if c.Argv[0].Text == "jq" {
				text = jqFields(text)
			}
			if strings.Contains(text, load) {
				return "a query with " + load + " is not known to be read-only"
			}
		}
	}
	s := &scan{model: m, r: r, name: c.Argv[0].Text, seen: map[string]bool{}, ended: -1}
	if why := s.read(args); why != "" {
		return why
	}
	// One yq takes the name of a file for one where there is no program before it.
	if len(s.operands) > 0 && s.operands[0].Known && s.name == "yq" && !r.lost && r.Facts != nil && slices.ContainsFunc(r.cwds, func(cwd string) bool {
		return r.Facts.Exists(absolute(cwd, s.operands[0].Text))
	}) {
		if why := r.content(s.operands[0], true); why != "" {
			return why
		}
	}
	return s.judge()
}

// jqFields leaves out the names of fields: a dot, and what belongs to its name.
func jqFields(text string) string {
	var out strings.Builder
	field := false
	for _, c := range text {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if field = c == '.' || field && letter; !field {
			out.WriteRune(c)
		}
	}
	return out.String()
}

// withoutVariables leaves out jq's --arg with its name and its value.
func withoutVariables(args []shell.Word) []shell.Word {
	var rest []shell.Word
	for i := 0; i < len(args); i++ {
		if arg := args[i].Text; arg != "--arg" && arg != "--argjson" || i+2 >= len(args) || args[i+1].Split || args[i+2].Split {
			rest = append(rest, args[i])
			continue
		}
		i += 2
	}
	return rest
}

// archive knows how tar and unzip list what is in one file.
func archive(r *run, c shell.Command, args []shell.Word) string {
	name := c.Argv[0].Text
	lists := []string{"tf", "tvf", "tzf", "tzvf", "tjf", "tJf", "-tf", "-tvf", "-tzf", "-tzvf", "-tjf", "-tJf"}
	if strings.HasSuffix(name, "unzip") {
		lists = []string{"-l", "-v", "-Z1"}
	}
	if len(args) != 2 || !args[0].Known || !slices.Contains(lists, args[0].Text) || !args[1].Known ||
		strings.HasPrefix(args[1].Text, "-") || strings.ContainsAny(args[1].Text, ":*?[") { // of another host, or a pattern
		return "only a list of one archive is known to be read-only"
	}
	return r.content(args[1], true)
}

// version knows only how a program says which version it is. Those that look into the
// working directory first, and may run what is named there, are not among its names.
func version(_ *run, c shell.Command, args []shell.Word) string {
	if len(args) == 1 && args[0].Known && (args[0].Text == "--version" || args[0].Text == "-V" && strings.HasPrefix(c.Argv[0].Text, "python") ||
		args[0].Text == "-v" && slices.Contains([]string{"node", "perl", "ruby"}, c.Argv[0].Text)) {
		return ""
	}
	return "what " + c.Argv[0].Text + " runs is not known"
}

// strs is strings, which takes @file for a file of more words.
func strs(r *run, c shell.Command, args []shell.Word) string {
	for _, word := range args {
		if strings.HasPrefix(word.Text, "@") {
			return "strings reads its words from " + word.Text
		}
	}
	m := model{options: "-afowd -n: -t: -e: -# --all --print-file-name --bytes= --radix= --encoding=" + common, kind: files}
	return r.model(c.Argv[0].Text, m, args)
}

// letta knows letta-code's own commands that only show.
func letta(_ *run, _ shell.Command, args []shell.Word) string {
	if len(args) >= 2 && args[0].Known && args[1].Known {
		switch args[0].Text + " " + args[1].Text {
		case "memory tokens", "memory help", "memfs tokens", "memfs help", "agents list", "agents help",
			"messages search", "messages list", "messages help":
			return ""
		}
	}
	return "this command of letta is not known to be read-only"
}

// ghVerbs are gh's commands that only ask.
var ghVerbs = []string{
	"pr list", "pr view", "pr diff", "pr checks", "pr status", "issue list", "issue view", "issue status",
	"repo view", "repo list", "run list", "run view", "release list", "release view", "workflow list", "workflow view",
	"label list", "gist list", "search prs", "search issues", "search repos", "search code", "search commits",
}

const ghOptions = "-c -R: -L: -s: -S: -l: -A: -a: -B: -H: -q: -t: -b: -j: -e: --repo= --limit= --state= --search= --label= --author= --assignee= --base= " +
	"--head= --json= --jq= --template= --comments --branch= --commit= --event= --status= --user= --job= --log --log-failed --exit-status " +
	"--verbose --name-only --patch --color= --required --draft --owner= --language= --sort= --order= --created= --updated= --merged " +
	"--exclude-drafts --exclude-pre-releases --milestone= --mention= --app= --visibility= --topic= --help"

// gh knows the commands that only ask, and requests to the API that are GET.
func gh(r *run, _ shell.Command, args []shell.Word) string {
	for _, word := range args {
		if !word.Known {
			return "the word " + word.Text + " of gh is not known"
		}
		if elsewhere(word.Text) {
			return "gh may ask another host than github.com, or for more than to see: " + word.Text
		}
	}
	switch {
	case len(args) >= 1 && args[0].Text == "status":
		return r.model("gh status", model{options: "-e: -o: --exclude= --org= --help", kind: none}, args[1:])
	case len(args) >= 1 && args[0].Text == "api":
		return ghAPI(r, args[1:])
	case len(args) >= 2 && slices.Contains(ghVerbs, args[0].Text+" "+args[1].Text):
		return r.model("gh", model{options: ghOptions, kind: text, tame: true}, args[2:])
	}
	return "this command of gh is not known to be read-only"
}

// elsewhere reports whether a word of gh names another host, which gets what the
// other words say and maybe a token, or asks for another method than the request's.
func elsewhere(word string) bool {
	_, value, attached := strings.Cut(word, "=")
	if !attached || !strings.HasPrefix(word, "-") {
		value = strings.TrimPrefix(word, "-R")
	}
	host, isURL := value, strings.Contains(value, "://")
	if isURL {
		_, host, _ = strings.Cut(value, "://")
	}
	host, rest, _ := strings.Cut(host, "/")
	other := host != "github.com" && host != "api.github.com"
	return strings.HasPrefix(word, "--hostname") || isURL && other || other && strings.Contains(host, ".") && strings.Contains(rest, "/") ||
		strings.Contains(strings.ToLower(word), "method-override")
}

func ghAPI(r *run, args []shell.Word) string {
	m := model{options: "-i -H: -q: -t: -p: -X: --include --header= --jq= --template= --preview= --method= --paginate --slurp --silent " +
		"--verbose --cache= --hostname= --help", kind: text, tame: true, most: 1}
	for i, word := range args {
		method, long := strings.CutPrefix(word.Text, "--method")
		if !long {
			if !strings.HasPrefix(word.Text, "-") || strings.HasPrefix(word.Text, "--") {
				continue
			}
			at := strings.IndexByte(word.Text, 'X')
			if at < 0 {
				continue
			}
			method = word.Text[at+1:]
		}
		if method = strings.TrimPrefix(method, "="); method == "" && i+1 < len(args) {
			method = args[i+1].Text
		}
		if method != "GET" && method != "HEAD" {
			return "a request that is not GET"
		}
	}
	return r.model("gh api", m, args)
}
