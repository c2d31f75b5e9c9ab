package cli

import (
	"slices"
	"strings"

	"termio/internal/api"
)

// spawnValues are the flags of spawn that take the next word as their value.
var spawnValues = []string{"--agent", "--cwd", "--resume", "--timeout"}

// joinWorktree makes --worktree BRANCH one word, --worktree=BRANCH, for the flag
// parser, which cannot tell an optional value from the prompt after it. Only a
// word that can be nothing else is taken for the branch: the prompt is quoted
// beside it, or stands after a --, or is a -. Where both readings are possible
// it asks rather than guesses.
func joinWorktree(args []string) ([]string, error) {
	at := -1
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		if slices.Contains(spawnValues, args[i]) {
			i++
		} else if args[i] == "--worktree" {
			at = i
		}
	}
	if at < 0 || at+1 >= len(args) {
		return args, nil
	}
	word := args[at+1]
	if word == "" || strings.HasPrefix(word, "-") || strings.ContainsAny(word, " \t\n") {
		return args, nil // a flag, or the prompt
	}
	rest, dashed := positionals(slices.Delete(slices.Clone(args), at, at+2))
	switch {
	case len(rest) == 0:
		return args, nil // the word is the prompt
	case dashed || len(rest) == 1 && (rest[0] == "-" || strings.ContainsAny(rest[0], " \t\n")):
		joined := slices.Clone(args[:at])
		joined = append(joined, "--worktree="+word)
		return append(joined, args[at+2:]...), nil
	}
	return nil, api.NewError(api.BadRequest, "is "+word+" the branch or the first word of the prompt? Write --worktree="+word+" for a branch, or put the prompt in quotes")
}

// positionals are the words that are neither flags nor their values, and whether
// all of them stand after a --.
func positionals(args []string) (words []string, dashed bool) {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--":
			return append(words, args[i+1:]...), len(words) == 0
		case slices.Contains(spawnValues, args[i]):
			i++
		case args[i] == "-" || !strings.HasPrefix(args[i], "-"):
			words = append(words, args[i])
		}
	}
	return words, false
}
