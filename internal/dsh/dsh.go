// Package dsh reads the two command lines by which DSH's sandbox starts a command:
// that of its Landlock launcher, landlock-run, and the arguments for bubblewrap that
// it hands to any other runner. It only reads them. What they ask for is done by the
// packages that do it for everybody.
//
// # Limits
//
// Both grammars are what DSH writes, and no more of bubblewrap's than that: an
// argument that is not known is an error, because leaving one out would confine less
// than was asked for.
package dsh

// Prefix opens each line that landlock-run writes; DSH takes it for a failure of the
// launcher where the exit status is 125.
const Prefix = "landlock-run: "
