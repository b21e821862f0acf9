//go:build !launcher

package main

import "runtime"

// init keeps the main goroutine on the main thread. What a backend takes from
// the launcher it takes from one thread, and that thread executes the command;
// bubblewrap dies with the thread that started it.
func init() { runtime.LockOSThread() }
