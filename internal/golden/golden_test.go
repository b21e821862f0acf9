package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	tests := []struct {
		name, kept, got string
		missing         bool
		update, ci      bool
		wantErr         string // a part of the error; "" for none
		wantKept        string
	}{
		{name: "equal", kept: "a\nb\n", got: "a\nb\n", wantKept: "a\nb\n"},
		{name: "different line", kept: "a\nb\n", got: "a\nc\n", wantErr: `line 2: got  "c\n"` + "\n" + `want "b\n"`, wantKept: "a\nb\n"},
		{name: "shorter", kept: "a\nb\n", got: "a\n", wantErr: `line 2: got  ""`, wantKept: "a\nb\n"},
		{name: "longer", kept: "a", got: "a\nb", wantErr: `line 1: got  "a\n"`, wantKept: "a"},
		{name: "missing file", missing: true, got: "a", wantErr: "-update:\na"},
		{name: "update", kept: "a", got: "b", update: true, wantKept: "b"},
		{name: "update of a missing file", missing: true, got: "b", update: true, wantKept: "b"},
		{name: "update in CI", kept: "a", got: "b", update: true, ci: true, wantErr: "CI is set", wantKept: "a"},
		{name: "update in CI where nothing differs", kept: "a", got: "a", update: true, ci: true, wantErr: "CI is set", wantKept: "a"},
		{name: "CI without update", kept: "a", got: "a", ci: true, wantKept: "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "testdata")
			file := filepath.Join(dir, "sub", "x.golden")
			if !tt.missing {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(tt.kept), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := compare(dir, "sub/x", []byte(tt.got), tt.update, tt.ci)
			if tt.wantErr == "" && err != nil {
				t.Errorf("compare: %v", err)
			}
			if tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("compare: %v, want an error with %q", err, tt.wantErr)
			}
			if kept, _ := os.ReadFile(file); string(kept) != tt.wantKept {
				t.Errorf("file holds %q, want %q", kept, tt.wantKept)
			}
		})
	}
}
