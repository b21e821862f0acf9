//go:build launcher && (linux || darwin)

package main

// planElsewhere hands over to the companion what no other plan needs. It speaks for
// this program there.
func (o *options) planElsewhere(args []string) (done bool, err error) {
	if o.checkPlan == "" && !o.execArgv {
		return false, nil
	}
	return true, speak("plan", args)
}

// What the companion alone has; nothing here comes to it.

func (*options) byPath() error { return nil }

func (*planDocument) addArgv(*inputs, *backend) error { return nil }
