package launch

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFreeFrom(t *testing.T) {
	for _, c := range []struct {
		n           int
		taken, want []int
	}{
		{0, nil, nil},
		{3, nil, []int{3, 4, 5}},
		{2, []int{3}, []int{4, 5}},
		{3, []int{4, 6, 4}, []int{3, 5, 7}},
		{2, []int{0, 1, 2}, []int{3, 4}},
		{2, []int{1 << 20}, []int{3, 4}},
	} {
		if got := FreeFrom(c.n, c.taken); !slices.Equal(got, c.want) {
			t.Errorf("FreeFrom(%d, %v) = %v, want %v", c.n, c.taken, got, c.want)
		}
	}
}

func TestMemfd(t *testing.T) {
	data := []byte(strings.Repeat("0123456789", 100_000))
	fd, err := Memfd("test", data)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v: it is not closed at exec", flags, err)
	}
	got, err := ReadAll(fd, len(data))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("ReadAll returns %d bytes, %v, want the %d written", len(got), err, len(data))
	}
}

func TestReadAll(t *testing.T) {
	read := func(text string, limit int) ([]byte, error) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		go func() {
			w.WriteString(text)
			w.Close()
		}()
		return ReadAll(int(r.Fd()), limit)
	}
	if got, err := read("", 10); err != nil || len(got) != 0 {
		t.Errorf("ReadAll of nothing = %q, %v", got, err)
	}
	if got, err := read("0123456789", 10); err != nil || string(got) != "0123456789" {
		t.Errorf("ReadAll at the limit = %q, %v", got, err)
	}
	if got, err := read("0123456789a", 10); err == nil || got != nil || err.Error() != "more than 10 bytes" {
		t.Errorf("ReadAll beyond the limit = %q, %v", got, err)
	}
	if _, err := ReadAll(-1, 10); err != unix.EBADF {
		t.Errorf("ReadAll of no descriptor: %v, want EBADF", err)
	}
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := ReadAll(int(dir.Fd()), 10); err != unix.EISDIR {
		t.Errorf("ReadAll of a directory: %v, want EISDIR", err)
	}
}
