// Package cli is the `termio` command: its tree of verbs and flags, what they
// print as text and as JSON, and which error ends in which exit code.
//
// A verb decodes its flags, calls the daemon through client and prints the
// reply; what a session is and does is decided by the daemon alone. Standard
// output is the answer, standard error the talk. cmd/termio calls it, passes in
// the daemon's own roles, which this package may not import, and alone ends the
// process. Help of every command works without a daemon.
//
// An App runs one command and is not for concurrent use.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/config"
	"termio/internal/quick"
)

// Exits that are no error to be printed: what they say has been said.
var (
	// ErrTimedOut is a wait that ran out; its reply has been printed.
	ErrTimedOut = errors.New("timed out")
	// ErrStreamEnded is a watch that the daemon's side ended.
	ErrStreamEnded = client.ErrStreamEnded
	// errPrinted is a failure whose errors stand on the output already.
	errPrinted = errors.New("failed")
)

// An Exit ends the process with a code that a program run inside it chose. What
// there was to say has been said.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Roles are the daemon's processes, which run from the same program.
type Roles struct {
	Keeper func(ctx context.Context, env config.Env) error // termio daemon run
	Host   func(ctx context.Context, env config.Env) error // termio daemon host
}

// An App is one run of the command.
type App struct {
	In       *os.File
	Out, Err *os.File
	Roles    Roles

	environ []string
	json    bool
	answer  *answer        // made by out
	client  *client.Client // the last one dialled
}

// An answer is standard output as printers see it. It keeps the first error of a
// write: an answer that has not arrived is a failure, whatever led to it.
type answer struct {
	file *os.File
	err  error
}

func (o *answer) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if err != nil && o.err == nil {
		o.err = &outputError{err}
	}
	return n, err
}

// An outputError is an answer that could not be written; it goes to standard error
// in any case.
type outputError struct{ err error }

func (e *outputError) Error() string {
	return quick.Unwritten(e.err)
}
func (e *outputError) Unwrap() error { return e.err }

// out is where answers go.
func (a *App) out() io.Writer {
	if a.answer == nil {
		a.answer = &answer{file: a.Out}
	}
	return a.answer
}

// outputErr is why an answer has not arrived, or nil.
func (a *App) outputErr() error {
	if a.answer == nil {
		return nil
	}
	return a.answer.err
}

// New makes an App over the process's own streams and environment.
func New(environ []string, roles Roles) *App {
	return &App{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Roles: roles, environ: environ}
}

// Run runs the command that the arguments name. Its error goes to PrintError.
func (a *App) Run(ctx context.Context, args []string) error {
	root := a.rootCmd(args)
	if len(args) > 2 && args[0] == "sessions" && args[1] == "spawn" {
		rest, err := joinWorktree(args[2:])
		if err != nil {
			a.json = wantsJSON(args)
			return err
		}
		args = append([]string{"sessions", "spawn"}, rest...)
	}
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.out())
	root.SetErr(a.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && wantsJSON(args) {
		a.json = true // a bad flag may have hidden it from the parser
	}
	a.tellVersions()
	if unwritten := a.outputErr(); unwritten != nil {
		return unwritten
	}
	return err
}

// tellVersions tells a person that the daemon is of another version than the
// command that has just called it.
func (a *App) tellVersions() {
	if !a.json && isTerminal(a.Err) {
		a.hintVersions()
	}
}

func (a *App) hintVersions() {
	if a.client == nil {
		return
	}
	if v := a.client.DaemonVersion(); v != "" && v != config.Version {
		fmt.Fprintf(a.Err, "hint: the daemon is version %s and this command %s; termio daemon restart replaces it, and sessions live on\n", clean(v), config.Version)
	}
}

// PrintError prints an error as the contract has it: the error object on
// standard output with --json, text on standard error without, or where standard
// output does not take it.
func (a *App) PrintError(err error) {
	if _, ended := errors.AsType[Exit](err); ended {
		return
	}
	switch {
	case err == nil, errors.Is(err, ErrTimedOut), errors.Is(err, errPrinted):
		return
	}
	_, unwritten := errors.AsType[*outputError](err)
	if a.json && !unwritten {
		a.printJSON(boundary(err))
		if a.outputErr() == nil {
			return
		}
	}
	// A refusal carries the question that is open, over several lines.
	fmt.Fprintf(a.Err, "error: %s\n", strings.ReplaceAll(cleanBlock(message(err)), "\n", "\n  "))
	if u, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(a.Err, "usage: %s\nsee: %s --help\n", useLine(u.cmd), u.cmd.CommandPath())
	}
}

// boundary is the error object of any error. What has no code did not come from
// the daemon: a file or a terminal of the caller's own went wrong.
func boundary(err error) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	return api.NewError(api.BadRequest, err.Error())
}

// message is what a person is told of an error: the daemon's own words, if it has any.
func message(err error) string {
	e, ok := errors.AsType[*api.Error](err)
	switch {
	case !ok:
		return err.Error()
	case e.Target != "" && !strings.Contains(e.Message, e.Target):
		return e.Message + "\nits session is " + e.Target
	}
	return e.Message
}

// A usageError is a command line that cannot be understood.
type usageError struct {
	cmd *cobra.Command
	err *api.Error
}

func (e *usageError) Error() string { return e.err.Message }
func (e *usageError) Unwrap() error { return e.err }

// usage makes a usageError with a code.
func usage(cmd *cobra.Command, code api.Code, format string, args ...any) error {
	return &usageError{cmd, api.NewError(code, fmt.Sprintf(format, args...))}
}

// wantsJSON reports whether --json stands among the arguments, before a --.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}

// printJSON prints a value as one line.
func (a *App) printJSON(v any) {
	enc := json.NewEncoder(a.out())
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

// print prints a reply: as JSON, or as the text its twin writes.
func (a *App) print(v any, text func(w io.Writer)) {
	if a.json {
		a.printJSON(v)
		return
	}
	text(a.out())
}

// env reads the environment; the first error of it is the command's.
func (a *App) env() (config.Env, error) {
	env, err := config.FromEnv(a.environ)
	if err != nil {
		return env, api.NewError(api.BadRequest, err.Error())
	}
	return env, nil
}

// cwd is the caller's working folder, "" where it has vanished.
func cwd() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// dial connects to the daemon, starting one if start is set.
func (a *App) dial(ctx context.Context, start bool) (*client.Client, error) {
	env, err := a.env()
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(ctx, env.Paths, client.Options{
		Session: env.Session, Cwd: cwd(), Timeout: env.CLITimeout, Start: start, Environ: a.environ,
	})
	if err == nil {
		a.client = c
	}
	return c, err
}

// joined makes one text of several words.
func joined(words []string) string { return strings.Join(words, " ") }

// maxText bounds what is read from standard input in bytes.
const maxText = 16 << 20

// text is the text that positionals give: joined by one space, or standard
// input for a single "-". The newline that ends a file is not part of it.
func (a *App) text(words []string) (string, error) {
	if len(words) != 1 || words[0] != "-" {
		return joined(words), nil
	}
	data, err := io.ReadAll(io.LimitReader(a.In, maxText+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > maxText {
		return "", api.NewError(api.BadRequest, fmt.Sprintf("standard input holds more than %d MiB; put it in a file and name the file in the prompt", maxText>>20))
	}
	s := strings.TrimSuffix(string(data), "\n")
	return strings.TrimSuffix(s, "\r"), nil
}
