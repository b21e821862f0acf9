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
