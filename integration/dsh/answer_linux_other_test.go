//go:build !amd64

package dsh

const canAnswer = false

func answer(string, []string) int { return 1 }
