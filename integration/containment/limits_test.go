package containment

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile("`(Test\\w+)`")
	testLink = regexp.MustCompile("\\[`(Test\\w+)`\\]\\(([^)#]+)\\)")
)

// TestLimitsName: each test that the page of limits names is a link to the file
// in which there is such a test.
func TestLimitsName(t *testing.T) {
	const docs = "../../docs/"
	page, err := os.ReadFile(docs + "limits.md")
	if err != nil {
		t.Fatal(err)
	}
	linked := make(map[string]int)
	for _, link := range testLink.FindAllStringSubmatch(string(page), -1) {
		name, file := link[1], path.Join(docs, link[2])
		linked[name]++
		source, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("the link of %s: %v", name, err)
		} else if !strings.Contains(string(source), "\nfunc "+name+"(t *testing.T) {") {
			t.Errorf("%s has no test %s", file, name)
		}
	}
	for _, name := range testName.FindAllStringSubmatch(string(page), -1) {
		linked[name[1]]--
	}
	for name, n := range linked {
		if n != 0 {
			t.Errorf("%s is named without a link", name)
		}
	}
	if len(linked) < 10 {
		t.Errorf("the page of limits names %d tests, want one for each limit", len(linked))
	}
}

// unshown are the limits for which there is no test, by how they begin, and why.
var unshown = map[string]string{
	"- **WSL 2**":               "takes WSL",
	"- **Too few threads":       "make hosts",
	"- **A search follows no":   "tools that follow none",
	"- **A hook is advice**":    "what a harness does",
	"| gap `deferred` | as for": "the table above",
	"| limit `aliases`":         "make hosts, on a host without /proc",
}

// TestLimitsAreShown: each limit of a backend that runs here names a test.
func TestLimitsAreShown(t *testing.T) {
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(page), "\n## Seatbelt")
	links := regexp.MustCompile("\\[`(Test|Fuzz)\\w+`\\]\\(")
	for _, limit := range regexp.MustCompile(`\n(- \*\*|\| )`).Split(text, -1)[1:] {
		begins := ""
		for b := range unshown {
			if strings.HasPrefix("- **"+limit, b) || strings.HasPrefix("| "+limit, b) {
				begins = b
			}
		}
		header := strings.HasPrefix(limit, "word |") || strings.HasPrefix(limit, "--- |")
		if shown := links.MatchString(limit); shown == (header || begins != "") {
			t.Errorf("the limit %.60q: names a test: %t, and is in unshown: %q", limit, shown, begins)
		}
	}
}
