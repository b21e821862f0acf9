package containment

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	for name, c := range processCalls {
		calls[name] = c
	}
}

// processCalls act on another process, or on what processes share.
var processCalls = map[string]call{
	"kill":  {1, func(p []string) error { return unix.Kill(number(p[0]), unix.SIGUSR1) }},
	"pidfd": {1, func(p []string) error { return pidfdSignal(number(p[0])) }},
	"fsetown": {1, func(p []string) error {
		return fsetown(number(p[0]))
	}},
	"prlimit": {1, func(p []string) error {
		var limit unix.Rlimit
		if err := unix.Prlimit(number(p[0]), unix.RLIMIT_CORE, nil, &limit); err != nil {
			return err
		}
		return unix.Prlimit(number(p[0]), unix.RLIMIT_CORE, &limit, nil)
	}},
	"ptrace":      {1, func(p []string) error { return ptrace(number(p[0])) }},
	"getfd":       {2, func(p []string) error { return getfd(number(p[0]), number(p[1])) }},
	"vm-readv":    {2, vmReadv},
	"process-mem": {2, processMem},

	"connect": {1, func(p []string) error { return connect(p[0]) }},
	"ask":     {2, func(p []string) error { return ask("unix", p[0], p[1]) }},
	"ask-tcp": {2, func(p []string) error { return ask("tcp", p[0], p[1]) }},
	"shm":     {1, func(p []string) error { return sharedMemory(number(p[0])) }},
	"mq":      {1, func(p []string) error { return messageQueue(p[0]) }},
	"mq-own":  {0, func([]string) error { return ownQueue() }},
	"key": {1, func(p []string) error {
		_, err := unix.KeyctlBuffer(unix.KEYCTL_READ, number(p[0]), make([]byte, 64), 0)
		return err
	}},
	"tiocsti":     {1, func(p []string) error { return tiocsti(p[0], unix.TIOCSTI) }},
	"tiocsti-hi":  {1, func(p []string) error { return tiocsti(p[0], highBit|unix.TIOCSTI) }},
	"tioclinux":   {1, func(p []string) error { return tioclinux(p[0]) }},
	"echo-off":    {1, func(p []string) error { return echoOff(p[0]) }},
	"int80":       {0, func([]string) error { return int80() }},
	"x32":         {0, func([]string) error { return x32() }},
	"uring-read":  {1, func(p []string) error { return uringOpen(p[0], unix.O_RDONLY) }},
	"uring-write": {1, func(p []string) error { return uringOpen(p[0], unix.O_WRONLY) }},
}

func pidfdSignal(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.PidfdSendSignal(fd, unix.SIGUSR1, nil, 0)
}

// fsetown lets the kernel send the signal, when input arrives at a pipe.
func fsetown(pid int) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return err
	}
	for _, set := range []struct{ cmd, arg int }{{unix.F_SETOWN, pid}, {unix.F_SETSIG, int(unix.SIGUSR1)}, {unix.F_SETFL, unix.O_ASYNC}} {
		if _, err := unix.FcntlInt(uintptr(p[0]), set.cmd, set.arg); err != nil {
			return err
		}
	}
	_, err := unix.Write(p[1], []byte("x"))
	return err
}

func ptrace(pid int) error {
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	return nil // the end of this process detaches
}

func getfd(pid, fd int) error {
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(p)
	got, err := unix.PidfdGetfd(p, fd, 0)
	if err != nil {
		return err
	}
	defer unix.Close(got)
	_, err = unix.Pread(got, make([]byte, 1), 0)
	return err
}

func vmReadv(p []string) error {
	addr, err := strconv.ParseUint(p[1], 10, 64)
	if err != nil {
		return err
	}
	buf := make([]byte, 8)
	_, err = unix.ProcessVMReadv(number(p[0]), []unix.Iovec{{Base: &buf[0], Len: 8}}, []unix.RemoteIovec{{Base: uintptr(addr), Len: 8}}, 0)
	return err
}

func processMem(p []string) error {
	addr, err := strconv.ParseInt(p[1], 10, 64)
	if err != nil {
		return err
	}
	return opened("/proc/"+p[0]+"/mem", func(fd int) error {
		_, err := unix.Pread(fd, make([]byte, 8), addr)
		return err
	})
}

func connect(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

// ask lets a service outside read a file, which fails unless it did.
func ask(network, address, path string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		var errno syscall.Errno
		if errors.As(err, &errno) {
			return errno
		}
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte(path + "\n")); err != nil {
		return err
	}
	if n, err := c.Read(make([]byte, 64)); err != nil || n == 0 {
		return unix.ENODATA
	}
	return nil
}

func sharedMemory(id int) error {
	mem, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return err
	}
	defer unix.SysvShmDetach(mem)
	if mem[0] != 's' {
		return unix.ENODATA
	}
	return nil
}

func messageQueue(name string) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(p)), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	buf := make([]byte, 64)
	if _, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDRECEIVE, fd, uintptr(unsafe.Pointer(&buf[0])), 64, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// highBit is above what the kernel looks at, where there is room for it.
const highBit = (^uintptr(0) >> 32 & 1) << 32

// tiocsti puts a byte into a terminal's input queue. The kernel looks at the low
// half of the request alone, which a filter has to do as well.
func tiocsti(path string, request uintptr) error {
	return opened(path, func(fd int) error {
		b := byte('\n')
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&b))); errno != 0 {
			return errno
		}
		return nil
	})
}

// tioclinux asks a console for its shift state, which changes nothing.
func tioclinux(path string) error {
	return opened(path, func(fd int) error {
		b := byte(6)
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCLINUX, uintptr(unsafe.Pointer(&b))); errno != 0 {
			return errno
		}
		return nil
	})
}

func echoOff(path string) error {
	return opened(path, func(fd int) error {
		attr, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}
		attr.Lflag &^= unix.ECHO
		return unix.IoctlSetTermios(fd, unix.TCSETS, attr)
	})
}

// int80 asks for the process id (number 20) by the gate of 32-bit programs, from
// machine code: mov eax, 20; int 0x80; ret.
func int80() error {
	if runtime.GOARCH != "amd64" {
		return unix.ENOSYS
	}
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	copy(page, []byte{0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3})
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		return err
	}
	code := unsafe.Pointer(&page[0])
	entry := unsafe.Pointer(&code)
	(*(*func())(unsafe.Pointer(&entry)))()
	return nil
}

// x32 asks for the process id by the table of x32 programs.
func x32() error {
	if _, _, errno := unix.Syscall(0x40000000|unix.SYS_GETPID, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
