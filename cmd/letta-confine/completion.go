package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// subcommands are the words that dispatch, and main before it, know in the place of
// the first flag.
var subcommands = []string{"approve", "bwrap-argv", "check", "completion", "doctor", "explain", "help", "landlock-run", "plan", "preset", "probe", "version"}

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
	var cases strings.Builder
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
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= i
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
	case $prev in
` + cases.String() + `	` + all + `) ;;
	completion) words='bash zsh fish' ;;
	*)
		words='` + flagWords() + `'
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
	var specs strings.Builder
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
function __letta_confine_command
	set -l words (commandline -opc) (commandline -ct)
	set -e words[1..(contains -i -- -- $words)]
	string match -q -- '-*' $words[1]; or __fish_complete_subcommand --commandline $words
end
complete -c letta-confine -n 'not __letta_confine_own' -x -a '(__letta_confine_command)'
`)
	const line = "complete -c letta-confine -n __letta_confine_own"
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
