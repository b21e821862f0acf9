package credential

import "strings"

// ParseEnv reads a .env file: NAME=value a line, with or without "export ", bare or
// in quotes. Nothing is expanded. Programs read such files in different ways; where
// they would not agree the answer is an error that names the line, and so it is
// where the file sets what [Forbidden] says no file may.
func ParseEnv(text []byte) (map[string]string, error) {
	s := envScanner{rest: string(text), line: 1}
	values := map[string]string{}
	for s.rest != "" {
		name, value, err := s.next()
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue
		}
		if _, twice := values[name]; twice {
			return nil, s.fail("a name that is set before")
		}
		values[name] = value
		s.line += s.below
		s.below = 0
	}
	return values, nil
}

// envScanner reads one assignment after the other.
type envScanner struct {
	rest  string
	line  int // of what next reads
	below int // lines that a value in quotes goes on for
}

func (s *envScanner) fail(what string) error { return &lineError{s.line, what} }

// next reads a line, and returns an empty name for one that assigns nothing.
func (s *envScanner) next() (name, value string, err error) {
	s.skip()
	switch {
	case s.rest == "":
		return "", "", nil
	case s.rest[0] == '\n':
		s.rest, s.line = s.rest[1:], s.line+1
		return "", "", nil
	case s.rest[0] == '#':
		if i := strings.IndexByte(s.rest, '\n'); i >= 0 {
			s.rest = s.rest[i:]
		} else {
			s.rest = ""
		}
		return "", "", nil
	}
	if after, ok := strings.CutPrefix(s.rest, "export "); ok {
		s.rest = after
		s.skip()
	}
	end := strings.IndexAny(s.rest, "=\n")
	if end < 0 || s.rest[end] != '=' || !ValidName(s.rest[:end]) {
		return "", "", s.fail("want NAME=value")
	}
	name, s.rest = s.rest[:end], s.rest[end+1:]
	if Forbidden(name) {
		return "", "", s.fail("a name that steers programs, which no .env file may set")
	}
	switch {
	case strings.HasPrefix(s.rest, "'"), strings.HasPrefix(s.rest, `"`):
		value, err = s.quoted(s.rest[0])
	default:
		value, err = s.bare()
	}
	if err != nil {
		return "", "", err
	}
	blank := s.skip()
	if s.rest != "" && s.rest[0] != '\n' && (s.rest[0] != '#' || !blank) {
		return "", "", s.fail("what follows the value is not a comment")
	}
	return name, value, nil
}

// skip passes over blanks, and the return before a newline, and reports whether
// there were any.
func (s *envScanner) skip() bool {
	before := len(s.rest)
	s.rest = strings.TrimLeft(s.rest, " \t")
	if strings.HasPrefix(s.rest, "\r\n") {
		s.rest = s.rest[1:]
	}
	return len(s.rest) < before
}

// bare reads a value without quotes. Shells and libraries disagree about what the
// refused bytes mean in one.
func (s *envScanner) bare() (string, error) {
	end := strings.IndexAny(s.rest, " \t\r\n")
	if end < 0 {
		end = len(s.rest)
	}
	value := s.rest[:end]
	if strings.ContainsAny(value, "$`\\'\"#\x00") {
		return "", s.fail("quote the value: it holds one of $ ` \\ ' \" #")
	}
	s.rest = s.rest[end:]
	return value, nil
}

// quoted reads a value in quotes, which may go on over lines. In double quotes \n
// is a newline; other escapes, and what a shell would expand, are errors.
func (s *envScanner) quoted(quote byte) (string, error) {
	body, after, closed := strings.Cut(s.rest[1:], string(quote))
	switch {
	case !closed:
		return "", s.fail("the quote is not closed")
	case strings.IndexByte(body, 0) >= 0:
		return "", s.fail("the value holds a NUL")
	}
	s.rest, s.below = after, strings.Count(body, "\n")
	if quote == '\'' {
		return body, nil
	}
	plain := strings.ReplaceAll(body, `\n`, "\n")
	if strings.ContainsAny(plain, "$`\\") {
		return "", s.fail("use single quotes: the value holds one of $ ` \\")
	}
	return plain, nil
}
