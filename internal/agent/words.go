package agent

import (
	"errors"
	"strings"
)

var errQuote = errors.New("has a quote that does not end")

// splitWords splits a command line or a template at blanks. Quotes of either kind
// keep words together, and outside of single quotes a backslash takes the next
// character as it is. That is all: no variables, no globs, no shell.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	open, escaped := false, false // in a word; after a backslash
	var quote rune
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			open, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			open, quote = true, r
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			open = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, errQuote
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}

// fill splits a template into words and only then puts the values into them, so
// that a value with blanks or quotes stays inside its word.
func fill(template string, values map[string]string) ([]string, error) {
	words, err := splitWords(template)
	if err != nil {
		return nil, err
	}
	var pairs []string
	for name, v := range values {
		pairs = append(pairs, "{"+name+"}", v)
	}
	r := strings.NewReplacer(pairs...)
	for i := range words {
		words[i] = r.Replace(words[i])
	}
	return words, nil
}
