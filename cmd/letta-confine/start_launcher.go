//go:build launcher

// Nothing here outlives a change of the processors it may use, and the goroutine
// that watches for one is made at every start. The Makefile replaces this line by
// its own settings.
//go:debug updatemaxprocs=0

package main

import "os"

// init is all of the launcher. Initialization runs on the main thread (package
// runtime, LockOSThread), and that must not be left: what a backend takes from the
// launcher it takes from one thread, which executes the command, and bubblewrap dies
// with the thread that started it. LockOSThread in an init would do the same, but
// starts a thread of the runtime's, before every command.
func init() {
	deepen(len(os.Args))
	main()
}

// deepen has the stack grow to what a start needs, once and while there is little
// on it. It is copied four times otherwise, and each time every frame on it is
// looked up. Nothing of room is touched, so that it costs no memory.
//
//go:noinline
func deepen(n int) byte {
	if n < 1<<30 {
		return 0
	}
	var room [16 << 10]byte
	room[n%len(room)] = 1
	return room[n/2%len(room)]
}
