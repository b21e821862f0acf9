//go:build !race

package sim

const stride = 1
