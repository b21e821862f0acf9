package dsh

import "errors"

// LandlockRun is a command line of landlock-run.
type LandlockRun struct {
	Probe  bool    // tell what the kernel enforces, and run nothing
	Grants []Grant // in the order in which they were given
	Argv   []string
}

// Grant is one root that landlock-run opens. Grants add up: what one of them allows
// no other takes away.
type Grant struct {
	Path  string // as written; a relative one is taken from the working directory
	Write bool
}

// ParseLandlockRun reads the arguments after the program's name. What follows --ro
// or --rw is a path, whatever it looks like. The text of an error is what
// landlock-run writes behind its prefix.
func ParseLandlockRun(args []string) (LandlockRun, error) {
	var l LandlockRun
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; arg {
		case "--":
			l.Argv = args[i+1:]
			i = len(args)
		case "--probe":
			if len(args) != 1 {
				return LandlockRun{}, errors.New("usage error: --probe takes no other arguments")
			}
			return LandlockRun{Probe: true}, nil
		case "--ro", "--rw":
			if i++; i == len(args) {
				return LandlockRun{}, errors.New("usage error: " + arg + " requires a path")
			}
			l.Grants = append(l.Grants, Grant{args[i], arg == "--rw"})
		default:
			return LandlockRun{}, errors.New("usage error: unknown argument: " + arg)
		}
	}
	if len(l.Argv) == 0 {
		return LandlockRun{}, errors.New("usage error: missing `-- <argv>...` command")
	}
	return l, nil
}
