// Package jsonline reads one line of JSON that another program wrote: a flat
// object of texts and whole numbers, and nothing that two readers could take for
// different things.
//
// # Limits
//
// Half a surrogate pair in a text becomes U+FFFD, as encoding/json has it: a text
// read here is compared with words, or shown, and never names a file.
package jsonline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Object returns the members of the object that line is, each as it is written in a
// text. A name that stands twice, a value of another kind, broken UTF-8 and
// anything behind the object are errors. Names differ by case.
func Object(line []byte) (map[string]string, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("not UTF-8")
	}
	in := json.NewDecoder(bytes.NewReader(line))
	in.UseNumber()
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	members := map[string]string{}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, errors.New("not JSON")
		}
		value, err := in.Token()
		if err != nil {
			return nil, errors.New("not JSON")
		}
		key := name.(string) // the decoder takes nothing else for a name
		if _, twice := members[key]; twice {
			return nil, fmt.Errorf("%q stands twice", key)
		}
		switch v := value.(type) {
		case string:
			members[key] = v
		case json.Number:
			members[key] = string(v)
		default:
			return nil, fmt.Errorf("%q is neither a text nor a number", key)
		}
	}
	if _, err := in.Token(); err != nil {
		return nil, errors.New("not JSON")
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return members, nil
}
