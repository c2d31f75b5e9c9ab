// Package early carries out the calls that quick knows before the rest of the program
// is initialised.
//
// A program's packages are initialised in the order of their import paths, each once
// all that it imports is (the language asks for the latter, Go 1.21 and later for the
// former as well). This package and what it imports need few others, so its turn comes
// when a fifth of them have had theirs; a call ends here, and the others never get one.
// Only cmd/termio imports it, for that alone. What it does not carry out goes on to main as
// if it had not been asked; docs/decisions/0015-early-calls.md has the figures.
package early

import (
	"os"

	"termio/internal/quick"
)

func init() {
	code, done := quick.Run(quick.Process{
		Args: os.Args[min(1, len(os.Args)):], Environ: os.Environ(),
		Out: os.Stdout, Err: os.Stderr,
	})
	if done {
		os.Exit(code)
	}
}
