// Package dsh holds the tests of the two faces that DSH's sandbox starts commands
// through: landlock-run, case by case, and bubblewrap's arguments; and of DSH's own
// packages with the launcher in the place of what they bring.
package dsh
