package readonly

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/letta-confine/letta-confine/shell"
)

// gitCommand is a subcommand of git that can be read-only. Its options are those
// of model; programs are the options among them with which it looks at contents,
// and may run what the repository's configuration names.
type gitCommand struct {
	name     string
	options  string
	kind     operands
	most     int
	worktree bool   // it looks at contents or the work tree whatever the options
	programs string // the options that make it do so, between blanks
	needs    string // operands are taken only with one of these options
}

const gitRevisions = "-# -n: -i -E -F -P -g --all --branches? --tags? --remotes? --oneline --graph --decorate? --no-decorate --abbrev-commit --abbrev? --no-abbrev " +
	"--no-abbrev-commit --no-merges --merges --first-parent --reverse --since= --after= --until= --before= --author= --committer= --grep= --max-count= " +
	"--skip= --date= --format= --pretty? --no-color --color? --topo-order --date-order --author-date-order --left-right --cherry-pick --cherry-mark --cherry " +
	"--full-history --simplify-merges --simplify-by-decoration --ancestry-path --parents --children --boundary --not --no-walk --ignore-case --invert-grep " +
	"--all-match --extended-regexp --fixed-strings --relative-date --source --no-notes --count --objects --no-max-parents --min-parents= --max-parents= --glob= --exclude="

const gitDiffs = " -p -u -s -w -b -M -C -z -a -R -U: -S: -G: -L: --stat? --shortstat --numstat --dirstat? --summary --name-only --name-status --patch --no-patch " +
	"--patch-with-stat --raw --unified= --minimal --patience --histogram --diff-algorithm= --ignore-all-space --ignore-space-change --ignore-blank-lines " +
	"--word-diff? --word-diff-regex= --color-words? --diff-filter= --no-renames --find-renames? --find-copies? --full-index --binary --text --exit-code --quiet " +
	"--check --relative? --no-relative --function-context -W --no-ext-diff --no-textconv --no-prefix --pickaxe-all --pickaxe-regex --follow --cc --inter-hunk-context= --compact-summary"

const gitContents = " -p -u -S -G -L --patch --patch-with-stat --cc --check --unified -U --word-diff --color-words --function-context -W --binary --follow "

// gitFilters are the options of branch and tag that make them list.
const gitFilters = " -l --list --contains --no-contains --merged --no-merged --points-at "

var gitCommands = []gitCommand{
	{name: "log", options: gitRevisions + gitDiffs, kind: files, programs: gitContents},
	{name: "whatchanged", options: gitRevisions + gitDiffs, kind: files, programs: gitContents},
	{name: "diff-tree", options: "-rtm --no-commit-id --root --always" + gitDiffs, kind: files, programs: gitContents},
	{name: "stash show", options: gitDiffs, kind: text, most: 1, worktree: true},
	{name: "symbolic-ref", options: "-q --short --quiet", kind: text, most: 1},
	{name: "cherry", options: "-v --verbose --abbrev?", kind: text},
	{name: "rev-list", options: gitRevisions, kind: files},
	{name: "shortlog", options: "-snec " + gitRevisions, kind: files},
	{name: "reflog show", options: gitRevisions, kind: files},
	{name: "reflog", options: gitRevisions, kind: none},
	{name: "show", options: gitRevisions + gitDiffs, kind: files, worktree: true},
	{name: "diff", options: "-# --cached --staged --merge-base --no-color --color? --ignore-submodules? --submodule?" + gitDiffs, kind: files, worktree: true},
	{name: "status", options: "-sbz -u? -v --short --branch --porcelain? --long --show-stash --untracked-files? --ignored? --ignore-submodules? --column? --no-column --ahead-behind --no-ahead-behind --no-renames", kind: files, worktree: true},
	{name: "blame", options: "-bcefklnpstw -L: -C? -M? --porcelain --line-porcelain --show-name --show-number --show-email --root --date= --since= --abbrev= --no-textconv --ignore-rev=", kind: files, worktree: true},
	{name: "grep", options: "-aEFGHhIilLnoPpqvwWcz -A: -B: -C: -e: -f@ -m: -# --cached --untracked --no-color --color? --count --ignore-case --word-regexp --line-number --column --files-with-matches --name-only --files-without-match --extended-regexp --fixed-strings --perl-regexp --and --or --not --heading --break --show-function --function-context --max-depth= --text --only-matching --quiet --threads=", kind: pattern, worktree: true},
	{name: "describe", options: "--all --tags --long --always --abbrev= --match= --exclude= --contains --candidates= --exact-match --first-parent --dirty? --broken?", kind: text, programs: " --dirty --broken "},
	{name: "ls-files", options: "-cdmoistuvzk -x: -X@ --cached --deleted --modified --others --ignored --stage --unmerged --killed --exclude= --exclude-from@ --exclude-standard --error-unmatch --full-name --abbrev? --eol --deduplicate", kind: files, worktree: true},
	{name: "ls-tree", options: "-drtlz --name-only --name-status --long --full-name --full-tree --abbrev? --object-only", kind: files},
	{name: "cat-file", options: "-tseEp --allow-unknown-type", kind: text, most: 2},
	{name: "rev-parse", options: "-q --abbrev-ref? --short? --verify --quiet --symbolic --symbolic-full-name --all --branches? --tags? --remotes? --show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-superproject-working-tree --default= --show-object-format?", kind: text},
	{name: "for-each-ref", options: "--format= --sort= --count= --points-at= --merged? --no-merged? --contains? --no-contains? --ignore-case", kind: text},
	{name: "show-ref", options: "-dhqs --head --heads --tags --branches --verify --quiet --hash? --dereference --abbrev?", kind: text},
	{name: "merge-base", options: "-a --all --octopus --is-ancestor --independent --fork-point", kind: text},
	{name: "name-rev", options: "--tags --refs= --exclude= --name-only --always --all", kind: text},
	{name: "count-objects", options: "-vH --verbose --human-readable", kind: none},
	{name: "verify-commit", options: "-v --verbose --raw", kind: text, worktree: true},
	{name: "verify-tag", options: "-v --verbose --raw --format=", kind: text, worktree: true},
	{name: "branch", options: "-arvl --list --all --remotes --verbose --show-current --contains? --no-contains? --merged? --no-merged? --points-at= --sort= --format= --color? --no-color --column? --no-column --abbrev= --ignore-case", kind: text, needs: gitFilters},
	{name: "tag", options: "-l -n? --list --contains? --no-contains? --merged? --no-merged? --points-at= --sort= --format= --color? --no-color --column? --ignore-case", kind: text, needs: gitFilters},
	{name: "remote get-url", options: "--push --all", kind: text, most: 1},
	{name: "remote", options: "-v --verbose", kind: none},
	{name: "stash list", options: gitRevisions, kind: none},
	{name: "worktree list", options: "-vz --porcelain --verbose", kind: none},
	{name: "config list", options: "-z --local --show-origin --show-scope --name-only --null", kind: none},
	{name: "config get", options: "-z --all --local --show-origin --null", kind: text, most: 1},
	{name: "config", options: "-lz --get= --get-all= --get-regexp= --list --local --show-origin --show-scope --name-only --null --bool --int --path --type=", kind: text, most: 1},
	{name: "check-ignore", options: "-qvzn --quiet --verbose --non-matching --no-index", kind: files},
	{name: "version", options: "--build-options", kind: none},
}

// git knows the commands that only show. Those that look at contents or at the
// work tree run programs that the repository's own configuration, attributes and
// hooks name, so they are read-only only where there are none.
func git(r *run, c shell.Command, args []shell.Word) string {
	dirs := r.cwds
	if r.lost {
		return "the current directory is not known"
	}
	i := 0
	for ; i < len(args) && args[i].Known && strings.HasPrefix(args[i].Text, "-"); i++ {
		switch args[i].Text {
		case "--no-pager", "--no-optional-locks", "--literal-pathspecs":
		case "--version":
			return ""
		case "-C":
			if i++; i >= len(args) || !args[i].Known || args[i].Text == "" {
				return "where git goes is not known"
			}
			var next []string
			for _, dir := range dirs {
				full := absolute(dir, args[i].Text)
				if !r.AnyRoot && !r.within(full, r.Roots) {
					return "git -C leads outside the roots"
				}
				next = append(next, full)
			}
			dirs = next
		default:
			return "git " + args[i].Text + " is not known to be read-only"
		}
	}
	command, rest, ok := gitFind(args[i:])
	if !ok {
		return "this command of git is not known to be read-only"
	}
	// Words are relative to where git goes.
	there := &run{Judge: r.Judge, cwds: dirs}
	s := &scan{model: model{options: command.options, kind: command.kind, most: command.most}, r: there, name: "git " + command.name, seen: map[string]bool{}, ended: -1}
	why := s.read(rest)
	if why == "" {
		why = s.judge()
	}
	r.reads, r.unknown = append(r.reads, there.reads...), r.unknown || there.unknown
	if why != "" {
		return why
	}
	listed, programs := false, command.worktree
	for option := range s.seen {
		listed = listed || strings.Contains(command.needs, " "+option+" ")
		programs = programs || strings.Contains(command.programs, " "+option+" ")
	}
	if command.needs != "" && len(s.operands) > 0 && !listed {
		return "git " + command.name + " with a name makes one"
	}
	if command.name == "config" && len(s.operands) > 0 && !strings.Contains(s.operands[0].Text, ".") {
		return "git config " + s.operands[0].Text + " is no key" // newer ones have verbs: edit, set
	}
	for _, dir := range dirs {
		if why := r.vet(dir, programs); why != "" {
			r.rewrite = gitRewrite(command.name, args, i)
			return why
		}
	}
	return ""
}

func gitFind(args []shell.Word) (gitCommand, []shell.Word, bool) {
	if len(args) == 0 || !args[0].Known {
		return gitCommand{}, nil, false
	}
	for _, command := range gitCommands {
		first, second, two := strings.Cut(command.name, " ")
		if first != args[0].Text {
			continue
		}
		if !two {
			return command, args[1:], true
		}
		if len(args) > 1 && args[1].Known && args[1].Text == second {
			return command, args[2:], true
		}
	}
	return gitCommand{}, nil, false
}

// gitRewrite is the call with everything off that a repository can make git run.
// The clean filters cannot be turned off from the command line, so what compares
// the work tree has no such call (measured, git 2.39).
func gitRewrite(name string, args []shell.Word, at int) string {
	extra := ""
	switch name {
	case "log", "show":
		extra = "--no-ext-diff --no-textconv --no-show-signature"
	case "grep", "ls-files":
	default:
		return ""
	}
	out := "git --no-pager --no-optional-locks -c core.fsmonitor=false -c core.hooksPath=/dev/null"
	for i, word := range args {
		if !word.Known {
			return ""
		}
		quoted, err := syntax.Quote(word.Text, syntax.LangPOSIX)
		if err != nil {
			return ""
		}
		out += " " + quoted
		if i == at && extra != "" {
			out += " " + extra
		}
	}
	return out
}
