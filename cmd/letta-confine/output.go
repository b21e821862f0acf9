package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// What was asked for goes to standard output.

func printJSON(v any) error {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

func printText(text string) error {
	if _, err := os.Stdout.WriteString(text); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}
