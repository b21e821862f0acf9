package guard_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

func TestOpenFile(t *testing.T) {
	h := home(t)
	g := crossAgent(t, h, nil)
	for path, want := range map[string]error{
		h + "/proj/notes.md":                           nil,
		h + "/proj/sub/../notes.md":                    nil,
		h + "/proj/dir/x.md":                           guard.ErrPolicy,
		h + "/.letta/agents/agent-other/memory/x.md":   guard.ErrPolicy,
		h + "/.letta/agents/agent-other/memory/absent": guard.ErrPolicy,
		h + "/proj/absent":                             syscall.ENOENT,
		h + "/proj/loop":                               guard.ErrPolicy,
		"/proc/self/fd/0":                              guard.ErrPolicy,
		"":                                             guard.ErrPolicy,
	} {
		file, err := g.OpenFile(path, os.O_RDONLY, 0)
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("OpenFile(%q) = %v, want %v", path, err, want)
		}
		if refused, ok := errors.AsType[*guard.RefusedError](err); ok != (want == guard.ErrPolicy) || ok && refused.Code == "" {
			t.Errorf("OpenFile(%q) = %#v", path, err)
		}
		file.Close()
	}
	if _, err := g.OpenFile("/dev/null", os.O_RDWR, 0); err == nil {
		t.Error("OpenFile opens a device node")
	}
	file, err := g.OpenFile(h+"/proj/made", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(file, "text"); err != nil || file.Close() != nil {
		t.Error(err)
	}
}

// Where a policy reads and does not write, so does OpenFile.
func TestOpenFileReadOnly(t *testing.T) {
	h := scratch(t)
	file(t, h+"/x")
	g := &guard.Guard{FS: hostfs.FS{}}
	add(t, g, policy.Policy{RestrictWrites: true})
	f, err := g.OpenFile(h+"/x", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, flag := range []int{os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC, os.O_APPEND, os.O_CREATE} {
		if _, err := g.OpenFile(h+"/x", flag, 0o600); !errors.Is(err, guard.ErrPolicy) {
			t.Errorf("OpenFile with flags %#x = %v, want %v", flag, err, guard.ErrPolicy)
		}
	}
	if text, err := os.ReadFile(h + "/x"); err != nil || string(text) != "text\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

// planting is a host where a link takes a file's place once it was looked at.
type planting struct {
	hostfs.FS
	at, to string
}

func (p planting) Lstat(name string) (policy.Info, error) {
	info, err := p.FS.Lstat(name)
	if name == p.at && info.Kind == policy.File {
		if err := errors.Join(os.Remove(p.at), os.Symlink(p.to, p.at)); err != nil {
			return policy.Info{}, err
		}
	}
	return info, err
}

// A link that is planted between the check and the open leads nowhere; to check
// and then to open, the control, reads the other agent's file.
func TestOpenFileIsNotRaced(t *testing.T) {
	h := home(t)
	g := crossAgent(t, h, nil)
	secret := h + "/.letta/agents/agent-other/memory/x.md"
	notes := h + "/proj/notes.md"
	g.FS = planting{at: notes, to: secret}
	_, err := g.OpenFile(notes, os.O_RDONLY, 0)
	if !errors.Is(err, syscall.ELOOP) || errors.Is(err, guard.ErrPolicy) {
		t.Errorf("OpenFile = %v, want ELOOP", err)
	}
	if _, ok := errors.AsType[*fs.PathError](err); !ok {
		t.Errorf("OpenFile = %T, want a PathError", err)
	}

	if err := os.Remove(notes); err != nil {
		t.Fatal(err)
	}
	file(t, notes)
	r := g.Judge(guard.Call{Tool: "Read", Input: []byte(`{"file_path":"` + notes + `"}`), Cwd: h})
	text, err := os.ReadFile(notes)
	if r.Code != guard.Inside || err != nil || !strings.Contains(string(text), "text") {
		t.Errorf("the control gives %s and %q, %v", r.Code, text, err)
	}
	if target, err := os.Readlink(notes); err != nil || target != secret {
		t.Errorf("the control's link leads to %q, %v", target, err)
	}
}
