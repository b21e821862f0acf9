package containment

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// table collects the verdicts while the tests run.
type table struct {
	sync.Mutex
	rows map[[2]string]map[box]string // by class and case
}

var verdicts table

func (tb *table) add(class, name string, b box, verdict string) {
	tb.Lock()
	defer tb.Unlock()
	if tb.rows == nil {
		tb.rows = make(map[[2]string]map[box]string)
	}
	key := [2]string{class, name}
	if tb.rows[key] == nil {
		tb.rows[key] = make(map[box]string)
	}
	tb.rows[key][b] = verdict
}

// print writes the table to standard output, one line a case and one column a
// backend and user. The go tool shows it when it runs in this directory.
func (tb *table) print() {
	tb.Lock()
	defer tb.Unlock()
	if len(tb.rows) == 0 {
		return
	}
	keys := make([][2]string, 0, len(tb.rows))
	for key := range tb.rows {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [2]string) int {
		return strings.Compare(a[0]+"\x00"+a[1], b[0]+"\x00"+b[1])
	})
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(out, "class\tcase")
	for _, b := range boxes {
		fmt.Fprintf(out, "\t%v", b)
	}
	fmt.Fprintln(out)
	counts := make(map[string]int)
	for _, key := range keys {
		fmt.Fprintf(out, "%s\t%s", key[0], key[1])
		for _, b := range boxes {
			verdict, ok := tb.rows[key][b]
			if !ok {
				verdict = "-"
			} else {
				counts[verdict]++
			}
			fmt.Fprintf(out, "\t%s", verdict)
		}
		fmt.Fprintln(out)
	}
	out.Flush()
	words := make([]string, 0, len(counts))
	for verdict, n := range counts {
		words = append(words, fmt.Sprintf("%s %d", verdict, n))
	}
	slices.Sort(words)
	fmt.Printf("%d cases: %s\n", len(keys), strings.Join(words, ", "))
}
