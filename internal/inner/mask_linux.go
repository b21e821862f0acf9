package inner

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// wordBits is how many signals a word of a set holds: the kernel's words are as
// wide as the processor's.
const wordBits = 8 * unsafe.Sizeof(unix.Sigset_t{}.Val[0])

// Mask returns the 64 signals of a set, signal 1 in the lowest bit.
func Mask(set unix.Sigset_t) (mask uint64) {
	for n := range uintptr(64) {
		mask |= uint64(set.Val[n/wordBits]>>(n%wordBits)&1) << n
	}
	return mask
}

// Sigset is the opposite of Mask.
func Sigset(mask uint64) (set unix.Sigset_t) {
	for n := range uintptr(64) {
		if mask>>n&1 == 1 {
			set.Val[n/wordBits] |= 1 << (n % wordBits)
		}
	}
	return set
}
