package sessionlog

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	var s strings.Builder
	for i := range 500 {
		fmt.Fprintf(&s, asked, fmt.Sprint(i))
		fmt.Fprintf(&s, decided, fmt.Sprint(i))
	}
	text := []byte(s.String())
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
