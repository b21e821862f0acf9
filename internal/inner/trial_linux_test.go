package inner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What can be done after all is an error, and leaves nothing behind.
func TestTrialThatIsAllowed(t *testing.T) {
	dir := t.TempDir()
	for _, trial := range []Trial{{dir, false}, {dir, true}} {
		if errno, err := trial.Try(); !errors.Is(err, ErrAllowed) || errno != "" {
			t.Errorf("Try(%+v) = %q, %v, want ErrAllowed", trial, errno, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the trial left %v, %v", left, err)
	}
	if errno, err := (Trial{Path: filepath.Join(dir, "gone")}).Try(); errno != "ENOENT" || err != nil {
		t.Errorf("Try of nothing = %q, %v, want ENOENT", errno, err)
	}
	if errno, err := (Trial{}).Try(); errno != "" || err != nil {
		t.Errorf("no trial = %q, %v", errno, err)
	}
}
