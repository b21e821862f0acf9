package shell

import (
	"fmt"
	"strings"
	"testing"
)

// show writes a command as words: unknown ones as ?, patterns as ~pattern~, with
// assignments before and redirections after, and what it wraps in brackets.
func show(c Command) string {
	var out []string
	for _, a := range c.Assigns {
		out = append(out, a.Name+"="+showWord(a.Value))
	}
	for _, word := range c.Argv {
		out = append(out, showWord(word))
	}
	for _, r := range c.Redirs {
		out = append(out, r.Op+showWord(r.Target))
	}
	for _, inner := range c.Inner {
		out = append(out, "["+show(inner)+"]")
	}
	return strings.Join(out, " ")
}

func showWord(w Word) string {
	switch {
	case w.Known && (w.Text == "" || strings.ContainsAny(w.Text, " \n")):
		return fmt.Sprintf("%q", w.Text)
	case w.Known:
		return w.Text
	case w.Glob:
		return "~" + w.Text + "~"
	case w.Stream:
		return "<()"
	case w.Split:
		return "?*"
	}
	return "?"
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, src, want string
		doubt           bool
	}{
		{"a separator of any kind parts commands", "a & b; c && d || e | f |& g\nh", "a; b; c; d; e; f; g; h", false},
		{"a comment hides a quote", "ls #'\ntouch x #'", "ls; touch x", false},
		{"quotes are removed", `f"in"d '' \-del""ete $'\x2ddelete' "a\"\$b"`, `find "" -delete -delete a"$b`, false},
		{"braces are expanded", `f -{print,delete} {1..3} a{b,c{d,e}} "{x,y}"`, "f -print -delete 1 2 3 ab acd ace {x,y}", false},
		{"a brace that is not surely one is unknown", `f {a..z} x{a,$y,}z`, "f ?* xaz ?* xz", false},
		{"home is known", `f ~ ~/x $HOME/y "${HOME}"z ~root`, "f /home/u /home/u/x /home/u/y /home/u" + "z ?", false},
		{"a tilde in an assignment is not guessed", "f a=~ --x=a:~", "f ? ?", false},
		{"home that the text sets is unknown", `read HOME; f ~`, "read HOME; f ?", false},
		{"expansions are unknown", `f $x "$x" "$@" ${x:-b} $((1+2)) x$(g)y`, "g; f ?* ? ?* ?* ? ?*", false},
		{"a loop over words is unrolled", `for f in a b; do g "$f.c"; done; h $f`, "g a.c; g b.c; h ?*", false},
		{"a loop over a pattern keeps it", `for f in a/*.c; do g "$f" "x$f"; done`, "g ~a/*.c~ ?", false},
		{"a variable that a command sets is unknown", `for f in a; do read f; g "$f"; done`, "read f; g ?", false},
		{"patterns keep what is quoted", `f "*"?[a] \*`, `f ~\*?[a]~ *`, false},
		{"redirections have their targets", "f <a >b 2>&1 &>c >&d <>e 2>&-", "f <a >b >&1 &>c >&d <>e >&-", false},
		{"a redirection of a group stands alone", "{ a; } >b", "a; >b", false},
		{"a here-document runs its substitutions", "cat <<E\n$(a)\nE", "a; cat <<?", false},
		{"but not behind a quoted delimiter", "cat <<'E'\n$(a)\nE", "cat <<\"$(a)\\n\"", false},
		{"process substitution", "diff <(a) b", "a; diff <() b", false},
		{"and the other way", "a > >(b)", "b; a >?", true},
		{"conditions and branches", "if a; then b; elif c; then d; else e; fi; while f; do g; done; case x in y) h;; esac", "a; b; c; d; e; f; g; h", false},
		{"a function", "f() { a; }; f", "a; f", true},
		{"arithmetic with a variable", "f $((x))", "f ?", true},
		{"a prompt expansion", `f "${x@P}"`, "f ?", true},
		{"an arithmetic test", `[[ 'a[$(x)]' -eq 0 ]]`, "", true},
		{"a test of files", `[[ -f a && b == c ]] && d`, "d", false},
		{"an assignment in force", "PATH=.; ls", "PATH=.; ls", true},
		{"an ordinary one", `x=a y=$(b); f $x "$x"`, "b; x=a y=?*; f ?* ?", false},
		{"ones that may mean something", "x+=a; 2=a", "x+=a; 2=a", true},
		{"an array that goes on", "y=(a)# ; b", `; y=""`, true},
		{"a value that may be evaluated", "x='a[$(b)]'", "x=a[$(b)]", true},
		{"env", "env -i A=b ls -l", "env -i A=b ls -l [A=b ls -l]", false},
		{"wrappers of wrappers", "timeout -k 1 5 nice -n 5 ls", "timeout -k 1 5 nice -n 5 ls [nice -n 5 ls [ls]]", false},
		{"sh -c", "sh -c 'a; b $1' x", `sh -c "a; b $1" x [a] [b ?*]`, false},
		{"bash -lc", `bash -lc "rm x"`, `bash -lc "rm x" [rm x]`, false},
		{"sh -c that shells read differently", "sh -c 'ls &>/dev/null touch x'", `sh -c "ls &>/dev/null touch x" [ls touch x &>/dev/null]`, true},
		{"xargs adds words", "xargs -0 rm", "xargs -0 rm [rm ?*]", false},
		{"find runs commands", `find . -exec rm {} \; -o -ok a +`, "find . -exec rm {} ; -o -ok a + [rm ?] [a +]", false},
		{"a plus that ends nothing", `find . -exec a + -newer \;`, "find . -exec a + -newer ; [a + -newer]", false},
		{"xargs replaces words", "xargs -rIx f xa b", "xargs -rIx f xa b [f ? b ?*]", false},
		{"braces in a redirection", "f <a{n..n}b <{a,b} <{a", "f <?* <? <{a", false},
		{"braces come before variables", "for x in a; do f $x{1,2} {$x,b}1 $x{.,/}; done", "f ?* ?* ?* b1 a. a/", false},
		{"an empty alternative is no word", `{,f} {,a}{,} {,""} x{,}`, `f a a "" x x`, false},
		{"what stands for a NUL is unknown", `f $'a\400b' $'a\0'`, "f ? ?", false},
		{"a pattern in a loop", `for x in a*; do f $x "$x"; done`, "f ~a*~ ~a*~", false},
		{"an unknown option of a wrapper", "timeout --new 5 rm", "timeout --new 5 rm [--new 5 rm [5 rm] [rm]] [5 rm] [rm]", false},
		{"a command that is not known may run the rest", `"$x" rm -f`, "? rm -f [rm -f] [-f]", false},
		{"a pattern beside what is not known is many words", `f "$x"* ~u/*`, "f ?* ?*", false},
		{"an option of the keyword time", "time -- rm x", "-- rm x [rm x] [x]", false},
		{"a dash ends a redirection", ">& -rm x", "x >&-rm", true},
		{"a target that bash expands twice", `f >&'$(rm)'; f >&"$x"; f <&a\\b`, `f >&$(rm); f >&?; f <&a\b`, true},
		{"a target that is as it looks", "f >&a.b 2>&1 <&-", "f >&a.b >&1 <&-", false},
		{"what a variable or an option tells a program to run", `EDITOR='rm x' git -c core.pager='a b' log`, `EDITOR="rm x" git -c "core.pager=a b" log ["rm x"] [rm x] ["a b"] [a b]`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Options{Vars: map[string]string{"HOME": "/home/u"}}.Parse(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range s.Commands {
				got = append(got, show(c))
			}
			if text := strings.Join(got, "; "); text != tt.want {
				t.Errorf("Parse(%q)\n got %s\nwant %s", tt.src, text, tt.want)
			}
			if (len(s.Doubts) > 0) != tt.doubt {
				t.Errorf("Parse(%q) has the doubts %v, want any: %v", tt.src, s.Doubts, tt.doubt)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, src := range []string{
		"ls # x \\\ntouch x", "cat a\x00; b", "ls \x1b[2K", "ls\u00a0-la", "echo\u2028x", "ls \u202e", "\u200bls", "ls \xff",
		"ls \U000e0041", strings.Repeat("su ", 3000), strings.Repeat("nice -x ", 1000),
		strings.Repeat("for a in 1 2; do ", 100) + "[[ x ]]" + strings.Repeat("; done", 100), "ls \u3164", strings.Repeat("a ", MaxLen/2+1), "ls (", "echo 'a",
	} {
		if s, err := Parse(src); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", src, s.Commands)
		}
	}
	for _, src := range []string{"ls \\\n -l", "echo a#b\\\nc", "echo ä ü 語", `"$x"` + strings.Repeat(" -x", 200)} {
		if _, err := Parse(src); err != nil {
			t.Errorf("Parse(%q): %v", src, err)
		}
	}
}
