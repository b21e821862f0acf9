package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// strict looks at what encoding/json lets pass. It takes names in any case and keeps
// the last of two: a second, empty list of what is denied would hide the first.
type strict struct {
	// name judges a member: how deep its object lies, and whether that had the name
	// already.
	name func(depth int, name string, twice bool) error
	null error // of a null; nil where one may stand
}

// check fails on a text that is not one object, or that is refused.
func (s strict) check(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := s.value(d, 0); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	return nil
}

func (s strict) value(d *json.Decoder, depth int) error {
	t, err := d.Token()
	switch {
	case err != nil:
		return err
	case depth == 0 && t != json.Delim('{'):
		return errors.New("want an object")
	case t == nil:
		return s.null
	case t != json.Delim('{') && t != json.Delim('['):
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if t == json.Delim('{') {
			member, err := d.Token()
			if err != nil {
				return err
			}
			key, _ := member.(string)
			if err := s.name(depth, key, seen[key]); err != nil {
				return err
			}
			seen[key] = true
		}
		if err := s.value(d, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
