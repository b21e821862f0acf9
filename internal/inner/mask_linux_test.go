package inner

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMask: the kernel understands a mask as this package does, whatever the
// width of its words.
func TestMask(t *testing.T) {
	for _, mask := range []uint64{0, 1, 1 << 31, 1 << 32, 1<<63 | 1, 1<<40 | 1<<9} {
		if got := Mask(Sigset(mask)); got != mask {
			t.Errorf("Mask(Sigset(%#x)) = %#x", mask, got)
		}
	}
	const signals = 1 << (40 - 1) // one of the upper half
	done := make(chan uint64)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		set := Sigset(signals)
		var now unix.Sigset_t
		if unix.PthreadSigmask(unix.SIG_SETMASK, &set, nil) != nil || unix.PthreadSigmask(unix.SIG_SETMASK, nil, &now) != nil {
			now = unix.Sigset_t{}
		}
		done <- Mask(now)
	}()
	if got, want := <-done, uint64(signals); got != want {
		t.Errorf("the thread's mask is %#x, want %#x", got, want)
	}
}
