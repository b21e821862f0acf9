//go:build launcher && (linux || darwin)

package main

import "os"

// planElsewhere hands over to the companion what no other plan needs. It speaks for
// this program there.
func (o *options) planElsewhere(args []string) (done bool, err error) {
	if o.checkPlan == "" && !o.execArgv {
		return false, nil
	}
	self, err := os.Executable()
	if err == nil {
		err = handOver(self, "plan", args)
	}
	return true, err
}

// What the companion alone has; nothing here comes to it.

func (*options) byPath() error { return nil }

func (*planDocument) addArgv(*inputs, *backend) error { return nil }
