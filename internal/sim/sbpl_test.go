package sim

import (
	"errors"
	"testing"
)

func parseSBPL(t *testing.T, text string, params map[string]string) *SBPL {
	t.Helper()
	p, err := ParseSBPL(text, params)
	if err != nil {
		t.Fatalf("ParseSBPL: %v\n%s", err, text)
	}
	return p
}

const sbplOpen = "(version 1)\n(allow default)\n"

// The rows follow the numbers of the notes on Seatbelt; the words of a row are
// the fact, not what the evaluator happens to do.
func TestSBPLFacts(t *testing.T) {
	tests := []struct {
		name string
		text string
		op   string
		path string
		want Verdict
	}{
		{"2: filters of one rule are alternatives, first", `(deny file-read* (literal "/a") (literal "/b"))`, "file-read-data", "/a", VerdictDeny},
		{"2: filters of one rule are alternatives, second", `(deny file-read* (literal "/a") (literal "/b"))`, "file-read-data", "/b", VerdictDeny},
		{"2: operations of one rule are alternatives", `(deny file-read* file-write* (literal "/a"))`, "file-write-data", "/a", VerdictDeny},
		{"2: require-all needs each, met", `(deny file-read* (require-all (subpath "/a") (literal "/a/b")))`, "file-read-data", "/a/b", VerdictDeny},
		{"2: require-all needs each, not met", `(deny file-read* (require-all (subpath "/a") (literal "/a/b")))`, "file-read-data", "/a/c", VerdictAllow},
		{"2: require-any needs one", `(deny file-read* (require-any (literal "/a") (literal "/b")))`, "file-read-data", "/b", VerdictDeny},
		{"2: require-not in an allow", `(deny file-read* (subpath "/")) (allow file-read* (require-not (subpath "/a")))`, "file-read-data", "/b", VerdictAllow},
		{"2: require-not in an allow, held", `(deny file-read* (subpath "/")) (allow file-read* (require-not (subpath "/a")))`, "file-read-data", "/a", VerdictDeny},

		{"3: literal is equality", `(deny file-read* (literal "/a"))`, "file-read-data", "/a/b", VerdictAllow},
		{"3: subpath covers the directory itself", `(deny file-read* (subpath "/a"))`, "file-read-data", "/a", VerdictDeny},
		{"3: subpath covers what is below", `(deny file-read* (subpath "/a"))`, "file-read-data", "/a/b/c", VerdictDeny},
		{"3: subpath goes by component", `(deny file-read* (subpath "/a"))`, "file-read-data", "/ab", VerdictAllow},
		{"3: subpath / covers all", `(deny file-read* (subpath "/"))`, "file-read-data", "/a/b", VerdictDeny},
		{"3: prefix goes by bytes", `(deny file-read* (prefix "/a"))`, "file-read-data", "/ab", VerdictDeny},
		{"3: regex is not anchored", `(deny file-read* (regex #"b/c"))`, "file-read-data", "/ab/cd", VerdictDeny},
		{"3: regex anchors when asked", `(deny file-read* (regex #"^/ttys[0-9]+$"))`, "file-read-data", "/ttys12", VerdictDeny},
		{"3: regex anchors when asked, no match", `(deny file-read* (regex #"^/ttys[0-9]+$"))`, "file-read-data", "/ttys12x", VerdictAllow},

		{"4: the last match wins, deny last", `(allow file-read* (subpath "/a/b")) (deny file-read* (subpath "/a"))`, "file-read-data", "/a/b", VerdictDeny},
		{"4: the last match wins, allow last", `(deny file-read* (subpath "/a/b")) (allow file-read* (subpath "/a"))`, "file-read-data", "/a/b", VerdictAllow},

		{"5: an unfiltered rule after a filtered one loses", `(allow file-write* (subpath "/a")) (deny file-write*)`, "file-write-data", "/a/b", VerdictAllow},
		{"5: an unfiltered rule before a filtered one loses", `(deny file-write*) (allow file-write* (subpath "/a"))`, "file-write-data", "/a/b", VerdictAllow},
		{"5: an unfiltered rule decides where no filter matches", `(allow file-write* (subpath "/a")) (deny file-write*)`, "file-write-data", "/b", VerdictDeny},

		{"6: specific beats a later wildcard", `(allow file-read-metadata (literal "/a")) (deny file-read* (subpath "/a"))`, "file-read-metadata", "/a", VerdictAllow},
		{"6: specific beats an earlier wildcard", `(deny file-write-unlink (literal "/a")) (allow file-write* (subpath "/a"))`, "file-write-unlink", "/a", VerdictDeny},
		{"6: specific leaves its siblings alone", `(deny file-write-unlink (literal "/a")) (allow file-write* (subpath "/a"))`, "file-write-data", "/a", VerdictAllow},
		{"6: file* is the parent of file-write*", `(deny file* (subpath "/a"))`, "file-write-create", "/a", VerdictDeny},
		{"6: file* is the parent of file-link", `(deny file* (subpath "/a"))`, "file-link", "/a", VerdictDeny},
		{"6: default ends the chain", `(deny default)`, "file-read-data", "/a", VerdictDeny},
		{"6: specific unfiltered against wildcard filtered is unmeasured", `(allow file-read-metadata) (deny file-read* (subpath "/a"))`, "file-read-metadata", "/a", VerdictAmbiguous},
		{"6: the two agree, so nothing depends on it", `(deny file-read-metadata) (deny file-read* (subpath "/a"))`, "file-read-metadata", "/a", VerdictDeny},
		{"6: specific unfiltered where no wildcard filter matches", `(deny file-read-metadata) (deny file-read* (subpath "/a"))`, "file-read-metadata", "/b", VerdictDeny},

		{"10: read is file-read-data", `(deny file-read-metadata (subpath "/a"))`, "file-read-data", "/a", VerdictAllow},
		{"10: a hard link is not under file-write*", `(deny file-write* (subpath "/a"))`, "file-link", "/a/f", VerdictAllow},

		{"12: case is kept unless folding is on", `(deny file-read* (subpath "/a"))`, "file-read-data", "/A", VerdictAllow},

		{"16: a path socket is network-outbound", `(deny network-outbound (remote unix-socket (subpath "/a")))`, "network-outbound", "/a/s", VerdictDeny},
		{"16: a path socket by its exact path", `(deny network-outbound (remote unix-socket (path-literal "/s")))`, "network-outbound", "/s", VerdictDeny},
		{"16: a path socket elsewhere", `(deny network-outbound (remote unix-socket (subpath "/a")))`, "network-outbound", "/b/s", VerdictAllow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parseSBPL(t, sbplOpen+tt.text, nil)
			if got := p.Decide(tt.op, tt.path); got != tt.want {
				t.Errorf("Decide(%q, %q) = %v, want %v", tt.op, tt.path, got, tt.want)
			}
		})
	}
}

func TestSBPLText(t *testing.T) {
	p := parseSBPL(t, "; a comment ( \" #\"\n(version 1) ; another\n(allow default)\n"+
		`(deny file-read* (literal "/q\"b\\n\n") (literal (param "N")))`, map[string]string{"N": "/p)\"\n"})
	for _, path := range []string{"/q\"b\\n\n", "/p)\"\n"} {
		if got := p.Read(path); got != VerdictDeny {
			t.Errorf("Read(%q) = %v, want deny", path, got)
		}
	}
	if got := p.Read(`/q"b\n`); got != VerdictAllow {
		t.Errorf("Read of another name = %v, want allow", got)
	}
}

func TestSBPLRefusals(t *testing.T) {
	tests := []struct {
		name, text string
		want       error
	}{
		{"1: no version", "(allow default)", ErrSBPLVersion},
		{"1: version not first", "(allow default)\n(version 1)", ErrSBPLVersion},
		{"1: another version", "(version 2)\n(allow default)", ErrSBPLVersion},
		{"1: nothing but a version", "(version 1)", ErrSBPLVersion},
		{"1: unknown form", sbplOpen + "(permit default)", ErrSBPLForm},
		{"1: unknown operation", sbplOpen + `(deny file-rename (literal "/a"))`, ErrSBPLForm},
		{"1: unknown filter", sbplOpen + `(deny file-read* (glob "/a"))`, ErrSBPLForm},
		{"1: path-literal outside unix-socket", sbplOpen + `(deny file-read* (path-literal "/a"))`, ErrSBPLForm},
		{"1: a bare string", sbplOpen + `"x"`, ErrSBPLForm},
		{"1: a path where a filter belongs", sbplOpen + `(deny file-read* "/a")`, ErrSBPLForm},
		{"1: a rule without an operation", sbplOpen + `(deny (literal "/a"))`, ErrSBPLForm},
		{"1: two paths in one filter", sbplOpen + `(deny file-read* (literal "/a" "/b"))`, ErrSBPLForm},
		{"1: unbalanced", sbplOpen + `(deny file-read* (literal "/a")`, ErrSBPLSyntax},
		{"1: a parenthesis too many", sbplOpen + `(deny file-read* (literal "/a")))`, ErrSBPLSyntax},
		{"1: a string that does not end", sbplOpen + `(deny file-read* (literal "/a))`, ErrSBPLSyntax},
		{"1: a regex that does not end", sbplOpen + `(deny file-read* (regex #"/a))`, ErrSBPLSyntax},
		{"2: require-not in a deny", sbplOpen + `(deny file-read* (require-not (literal "/a")))`, ErrSBPLNot},
		{"2: require-not deep in a deny", sbplOpen + `(deny file-read* (require-all (subpath "/a") (require-not (literal "/a"))))`, ErrSBPLNot},
		{"3: undefined parameter", sbplOpen + `(deny file-read* (literal (param "N")))`, ErrSBPLParam},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ParseSBPL(tt.text, nil); !errors.Is(err, tt.want) {
				t.Errorf("ParseSBPL(%q) = %v, want %v", tt.text, err, tt.want)
			}
		})
	}
}

// Fact 3 again: what depends on the disputed reading of subpath is not an answer.
func TestSBPLSubpathOfAFile(t *testing.T) {
	isFile := func(path string) bool { return path == "/f" }
	p := parseSBPL(t, sbplOpen+`(deny file-read* (subpath "/f"))`, nil)
	p.IsFile = isFile
	if got := p.Read("/f"); got != VerdictAmbiguous {
		t.Errorf("Read of a file under subpath alone = %v, want ambiguous", got)
	}
	p = parseSBPL(t, sbplOpen+`(deny file-read* (subpath "/f") (literal "/f"))`, nil)
	p.IsFile = isFile
	if got := p.Read("/f"); got != VerdictDeny {
		t.Errorf("Read of a file under both = %v, want deny", got)
	}
}

// Fact 12: literal and subpath fold on a case-insensitive volume, regex does not.
func TestSBPLFoldCase(t *testing.T) {
	for _, tt := range []struct {
		filter string
		want   Verdict
	}{{`(literal "/a/b")`, VerdictDeny}, {`(subpath "/a")`, VerdictDeny}, {`(regex #"^/a/b$")`, VerdictAllow}} {
		p := parseSBPL(t, sbplOpen+`(deny file-read* `+tt.filter+`)`, nil)
		p.FoldCase = true
		if got := p.Read("/A/b"); got != tt.want {
			t.Errorf("%s: Read(/A/b) = %v, want %v", tt.filter, got, tt.want)
		}
	}
}

// The rival of fact 6: order alone.
func TestSBPLFlat(t *testing.T) {
	p := parseSBPL(t, sbplOpen+`(deny file-write-unlink (literal "/a")) (allow file-write* (subpath "/a"))`, nil)
	p.Flat = true
	if got := p.Unlink("/a"); got != VerdictAllow {
		t.Errorf("Unlink(/a) = %v, want allow", got)
	}
}

// Fact 10: which operations a system call asks about.
func TestSBPLHelpers(t *testing.T) {
	p := parseSBPL(t, sbplOpen+`
(deny file-read-data (literal "/data"))
(deny file-read-metadata (literal "/meta"))
(deny file-write-data (literal "/write"))
(deny file-write-create (literal "/create"))
(deny file-write-unlink (literal "/unlink"))
(deny file-link (literal "/link"))
(deny network-outbound (remote unix-socket (literal "/sock")))`, nil)
	calls := []struct {
		name string
		call func(string) Verdict
		deny string
	}{
		{"Read", p.Read, "/data"},
		{"List", p.List, "/data"},
		{"Stat", p.Stat, "/meta"},
		{"Write", p.Write, "/write"},
		{"Create", p.Create, "/create"},
		{"Unlink", p.Unlink, "/unlink"},
		{"Rename from", func(s string) Verdict { return p.Rename(s, "/free") }, "/unlink"},
		{"Rename to", func(s string) Verdict { return p.Rename("/free", s) }, "/create"},
		{"Link from", func(s string) Verdict { return p.Link(s, "/free") }, "/link"},
		{"Link to", func(s string) Verdict { return p.Link("/free", s) }, "/create"},
		{"Connect", p.Connect, "/sock"},
	}
	for _, c := range calls {
		for _, path := range []string{"/data", "/meta", "/write", "/create", "/unlink", "/link", "/sock"} {
			want := VerdictAllow
			if path == c.deny {
				want = VerdictDeny
			}
			if got := c.call(path); got != want {
				t.Errorf("%s(%q) = %v, want %v", c.name, path, got, want)
			}
		}
	}
}
