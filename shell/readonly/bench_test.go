package readonly

import (
	"testing"

	"github.com/letta-confine/letta-confine/shell"
)

// ordinary are commands as agents run them.
var ordinary = []string{
	"ls -la", "cat README.md", "git status --short", "git diff HEAD~1 -- src", "rg -n \"func main\" cmd | head -20", "sed -n '1,40p' go.mod",
	"find . -name '*.go' -type f | wc -l", "cd src && ls", "npm test", "for f in a b; do head -3 \"$f\"; done",
}

// BenchmarkShell is one ordinary command: read, taken apart, judged. The file system
// answers at once, so what is measured is ours.
func BenchmarkShell(b *testing.B) {
	j := &Judge{Cwd: "/p", Home: "/home/u", Roots: []string{"/p"}, Facts: plainHost{}}
	o := shell.Options{Vars: map[string]string{"HOME": "/home/u"}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s, err := o.Parse(ordinary[i%len(ordinary)])
		if err != nil {
			b.Fatal(err)
		}
		j.Script(s)
	}
}
