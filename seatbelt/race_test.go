//go:build race

package seatbelt_test

const stride = 11
