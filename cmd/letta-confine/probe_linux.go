package main

func probeHost(args []string) (int, error) { return 0, usageError("not yet") }
