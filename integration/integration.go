// Package integration holds the tests that run the built launcher on a real
// kernel: on Linux as root and as a plain user, through bubblewrap and through
// Landlock; on macOS as whoever runs them, through Seatbelt. No Mac has run the
// latter yet.
//
// Each denial is asserted by its exact errno (the table is in
// dialect_linux_test.go), and has a control: the same system call by the same
// user on an equal tree without the launcher, which must succeed.
package integration
