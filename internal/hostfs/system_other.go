//go:build unix && !linux

package hostfs

const openPath = 0
