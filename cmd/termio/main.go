// Command termio runs AI coding agents in real terminals that outlive every
// window. This file wires the program together: a hook's report first, for it
// is run the most often, then the daemon's processes and the command line; it
// alone turns an error into an exit code. It holds no behaviour of its own.
package main

import (
	"context"
	"errors"
	"os"

	_ "termio/cmd/termio/early" // before the rest of the program is initialised
	"termio/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Environ())) }

// run runs the command and gives its exit code.
func run(args, environ []string) int {
	if cli.ReportFast(args, environ) {
		return 0
	}
	app := cli.New(environ, cli.Roles{Keeper: runKeeper, Host: runHost})
	err := app.Run(context.Background(), args)
	app.PrintError(err)
	return exitCode(err)
}

// exitCode is the table of exit codes that scripts branch on.
func exitCode(err error) int {
	if code, ok := errors.AsType[cli.Exit](err); ok {
		return int(code)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, cli.ErrTimedOut): // a wait ran out; the session goes on
		return 3
	case errors.Is(err, cli.ErrStreamEnded): // a watch was ended from the daemon's side
		return 2
	default:
		return 1
	}
}
