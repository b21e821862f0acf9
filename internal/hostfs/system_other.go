//go:build unix && !linux && !darwin

package hostfs

import (
	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/policy"
)

const openPath = 0

func spelled(_ string, _ *unix.Stat_t, info policy.Info) policy.Info { return info }

func firmlink(string) string { return "" }
