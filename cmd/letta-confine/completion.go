package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// subcommands are the words that dispatch, and main before it, know in the place of
// the first flag.
var subcommands = []string{"approve", "bwrap-argv", "check", "completion", "credentials", "doctor", "explain", "help", "landlock-run", "learn", "plan", "preset", "probe", "version"}

// completion prints a script that completes the command line in a shell. The
// scripts are written from the table of flags when they are asked for: each flag
// says itself which words it takes, and the usage whether it takes a path.
func completion(args []string) (int, error) {
	shells := map[string]func() string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	if len(args) == 1 {
		if script, ok := shells[args[0]]; ok {
			return 0, printText(script())
		}
	}
	return 0, usageError("want completion bash, zsh or fish")
}

// words are the values that the flag takes, or none where it is not a choice.
func (f flag) words() []string {
	if f.bool {
		return nil
	}
	if c, ok := errors.AsType[*choiceError](f.set(&options{}, "\x00")); ok {
		return c.words
	}
	return nil
}

// takesPath reports whether a flag's value may be a path.
func (f flag) takesPath() bool {
	_, after, _ := strings.Cut(usage, "  --"+f.name+" ")
	return strings.HasPrefix(after, "FILE") || strings.HasPrefix(after, "PATH") || strings.HasPrefix(after, "DIR")
}

// checkKind is a word of check, with the flags of its own as they are written, those
// that take a value with "=".
type checkKind struct {
	word, flags string
	run         bool // it takes a run's flags too
}

// checkKinds are what check knows. The kinds are in the companion, so the launcher
// cannot ask them; a test does.
var checkKinds = []checkKind{
	{"commit", "--allow-list= --git-dir= --gitleaks-config= --index= --json --print-hook --repo=", false},
	{"hook", "--disable-memory-guard --on-ask= --protocol= --restrict= --rewrite= --settings=", true},
	{"path", "--disable-memory-guard --json --tool= --write", true},
	{"rules", "--allow= --ask= --ask-order= --deny= --json --list-tools --mode= --restrict= --root= --rules-dialect= --settings= --shell= --tool=", false},
	{"secrets", "--allow-list= --gitleaks-config= --json --text=", false},
	{"shell", "--json --root= --shell= --writable=", false},
}

// kindWords are the words of check, or those with flags of their own alone.
func kindWords(all bool) string {
	var words []string
	for _, k := range checkKinds {
		if all || !k.run {
			words = append(words, k.word)
		}
	}
	return strings.Join(words, " ")
}

// flagWords are all flags as they are written.
func flagWords() string {
	words := []string{"--help"}
	for _, f := range flags {
		words = append(words, "--"+f.name)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// The scripts complete what stands before "--" themselves. After it, the command
// is completed as it would be without the launcher. Where bash is offered nothing
// it completes file names. The value in --flag=value arrives there as a word of its
// own, after "=".
func bashCompletion() string {
	var takes []string
	var cases, kinds strings.Builder
	for _, k := range checkKinds {
		fmt.Fprintf(&kinds, "\t\t%s) own='%s' ;;\n", k.word, strings.ReplaceAll(k.flags, "=", ""))
	}
	for _, f := range flags {
		if f.bool {
			continue
		}
		takes = append(takes, "--"+f.name)
		if words := f.words(); words != nil {
			fmt.Fprintf(&cases, "\t--%s) words='%s' ;;\n", f.name, strings.Join(words, " "))
		}
	}
	all := strings.Join(takes, "|")
	return `# bash completion of letta-confine: source <(letta-confine completion bash)
_letta_confine() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= own= i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			elif ((COMP_CWORD == i + 1)); then
				COMPREPLY=($(compgen -c -- "$cur"))
			fi
			return
			;;
		` + all + `)
			[[ ${COMP_WORDS[i+1]} == = ]] && ((i++))
			((i++))
			;;
		esac
	done
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	if [[ ${COMP_WORDS[1]} == check ]] && ((COMP_CWORD > 2)); then
		case ${COMP_WORDS[2]} in
` + kinds.String() + `		esac
	fi
	case ${COMP_WORDS[2]-} in
	` + strings.ReplaceAll(kindWords(false), " ", "|") + `)
		if [[ $own ]]; then
			[[ $cur == -* ]] && COMPREPLY=($(compgen -W "$own" -- "$cur"))
			return
		fi
		;;
	esac
	case $prev in
` + cases.String() + `	` + all + `) ;;
	completion) words='bash zsh fish' ;;
	check) words='` + kindWords(true) + `' ;;
	*)
		words="$own ` + flagWords() + `"
		if ((COMP_CWORD == 1)); then
			words="$words ` + strings.Join(subcommands, " ") + `"
		elif [[ $cur != -* ]]; then
			words=
		fi
		;;
	esac
	[[ $words ]] && COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _letta_confine letta-confine
`
}

func zshCompletion() string {
	var specs, kinds strings.Builder
	for _, k := range checkKinds {
		list := "specs=("
		if k.run {
			list = "specs+=("
		}
		for word := range strings.FieldsSeq(k.flags) {
			if strings.HasSuffix(word, "=") {
				word += ":value:_files"
			}
			list += fmt.Sprintf(" '*%s'", word)
		}
		fmt.Fprintf(&kinds, "\t\t%s) %s ) ;;\n", k.word, list)
	}
	for _, f := range flags {
		switch words := f.words(); {
		case f.bool:
			fmt.Fprintf(&specs, "\t'*--%s'\n", f.name)
		case words != nil:
			fmt.Fprintf(&specs, "\t'*--%s=:value:(%s)'\n", f.name, strings.Join(words, " "))
		case f.takesPath():
			fmt.Fprintf(&specs, "\t'*--%s=:path:_files'\n", f.name)
		default:
			fmt.Fprintf(&specs, "\t'*--%s=:value: '\n", f.name)
		}
	}
	return `#compdef letta-confine
# zsh completion: letta-confine completion zsh >DIR/_letta-confine, with DIR in $fpath
_letta-confine() {
	local -a specs=(
	'--help'
` + specs.String() + `	)
	local i=${words[(i)--]}
	if (( i < CURRENT )); then
		(( CURRENT -= i ))
		shift $i words
		_normal
		return
	fi
	if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
		compadd ` + strings.Join(subcommands, " ") + `
		return
	fi
	if [[ $words[2] == completion ]]; then
		compadd bash zsh fish
		return
	fi
	if [[ $words[2] == check ]]; then
		if (( CURRENT == 3 )); then
			compadd ` + kindWords(true) + `
			return
		fi
		case $words[3] in
` + kinds.String() + `		esac
	fi
	_arguments $specs '*:path:_files'
}
if [[ $funcstack[1] == _letta-confine ]]; then
	_letta-confine "$@"
else
	compdef _letta-confine letta-confine
fi
`
}

func fishCompletion() string {
	var s strings.Builder
	s.WriteString(`# fish completion: letta-confine completion fish >~/.config/fish/completions/letta-confine.fish
function __letta_confine_own
	not contains -- -- (commandline -opc)
end
function __letta_confine_check
	set -l words (commandline -opc)
	test (count $words) -ge 3 -a "$words[2]" = check; and contains -- $words[3] $argv
end
function __letta_confine_run
	__letta_confine_own; and not __letta_confine_check ` + kindWords(false) + `
end
function __letta_confine_command
	set -l words (commandline -opc) (commandline -ct)
	set -e words[1..(contains -i -- -- $words)]
	string match -q -- '-*' $words[1]; or __fish_complete_subcommand --commandline $words
end
complete -c letta-confine -n 'not __letta_confine_own' -x -a '(__letta_confine_command)'
`)
	const line = "complete -c letta-confine -n __letta_confine_run"
	s.WriteString("complete -c letta-confine -n 'test (count (commandline -opc)) -eq 2; and __fish_seen_subcommand_from check' -f -a '" + kindWords(true) + "'\n")
	for _, k := range checkKinds {
		for word := range strings.FieldsSeq(k.flags) {
			name, value := strings.CutSuffix(strings.TrimPrefix(word, "--"), "=")
			fmt.Fprintf(&s, "complete -c letta-confine -n '__letta_confine_check %s' -l %s%s\n", k.word, name, map[bool]string{true: " -r -F"}[value])
		}
	}
	fmt.Fprintf(&s, "complete -c letta-confine -n __fish_use_subcommand -a '%s'\n", strings.Join(subcommands, " "))
	s.WriteString("complete -c letta-confine -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n")
	s.WriteString(line + " -l help\n")
	for _, f := range flags {
		switch words := f.words(); {
		case f.bool:
			fmt.Fprintf(&s, "%s -l %s\n", line, f.name)
		case words != nil:
			fmt.Fprintf(&s, "%s -l %s -x -a '%s'\n", line, f.name, strings.Join(words, " "))
		case f.takesPath():
			fmt.Fprintf(&s, "%s -l %s -r -F\n", line, f.name)
		default:
			fmt.Fprintf(&s, "%s -l %s -x\n", line, f.name)
		}
	}
	return s.String()
}
