package supervise

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// header is a program header of a 64-bit program, elf(5).
type header struct {
	kind, flags                   uint32
	_, address, _, _, inMemory, _ uint64
}

const (
	kindLoad    = 1 // PT_LOAD
	kindHeaders = 6 // PT_PHDR
	readable    = 4 // PF_R, and neither writable nor executable

	auxHeaders = 3 // AT_PHDR of getauxval(3)
	auxCount   = 5 // AT_PHNUM
)

// shed gives back what lies in memory of the program's constants, half of its file:
// while the command runs the supervisor only waits. A page that is needed again comes
// from the file. It does not matter if that fails.
func shed() {
	vector, err := unix.Auxv()
	if err != nil || unsafe.Sizeof(uintptr(0)) != 8 {
		return
	}
	var table, count uintptr
	for _, entry := range vector {
		switch entry[0] {
		case auxHeaders:
			table = entry[1]
		case auxCount:
			count = entry[1]
		}
	}
	if table == 0 {
		return
	}
	// An address from the kernel, of what is mapped as long as the program runs.
	headers := unsafe.Slice(*(**header)(unsafe.Pointer(&table)), count)
	var moved uintptr // by how much it was loaded elsewhere than it says
	for _, h := range headers {
		switch {
		case h.kind == kindHeaders:
			moved = table - uintptr(h.address)
		case h.kind == kindLoad && h.flags == readable:
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, moved+uintptr(h.address), uintptr(h.inMemory), unix.MADV_DONTNEED)
		}
	}
}
