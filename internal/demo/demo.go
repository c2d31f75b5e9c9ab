// Package demo is the demo agent: a scripted coding agent without a model that
// behaves on its terminal, in its hooks and in its transcript as the real ones
// do. It is what a new person sees first and what the tests drive.
//
// It hides raw mode, an input decoder, its own drawing, a little language for
// prompts (script.go) and a table of switches (switches.go) that each make it
// behave like one real agent or go wrong like one. Same prompts, same switches,
// same keys: same screens, reports and transcript. It runs no command: the one
// thing it changes outside its own folder is the file of a permitted [[touch]].
//
// Only the command line calls it, through [Run]. One goroutine, the loop of
// agent, owns all state; the others (input, turns, hooks, timers) hand it
// functions to call, and all have ended when Run returns.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"termio/internal/config"
)

// Stdio are the three files of a process.
type Stdio struct{ In, Out, Err *os.File }

// Name is the command of `termio` that runs the demo agent.
const Name = "demo-agent"

// Exit codes of Run that are not the script's own.
const (
	exitOK    = 0
	exitError = 1
	exitHUP   = 128 + 1
	exitTERM  = 128 + 15
)

// Run is `termio demo-agent args…` and returns its exit code. Errors have been
// printed by then. The end of ctx ends it as SIGTERM does.
func Run(ctx context.Context, args []string, stdio Stdio, environ []string) int {
	code, err := run(ctx, args, stdio, environ)
	if err != nil {
		fmt.Fprintf(stdio.Err, "error: %v\n", err)
	}
	return code
}

func run(ctx context.Context, args []string, stdio Stdio, environ []string) (int, error) {
	set, err := parseArgs(args, environ)
	if errors.Is(err, errHelp) {
		writeHelp(stdio.Out)
		return exitOK, nil
	}
	if err != nil {
		return exitError, fmt.Errorf("%w; termio %s --help lists flags and switches", err, Name)
	}
	if set.probe != "" {
		return probe(stdio, set.probe, reading{bytes: set.readBytes, every: set.scaled(set.readEvery)})
	}
	env, err := config.FromEnv(environ)
	if err != nil && env.Home == "" {
		return exitError, err
	}
	if set.home == "" {
		set.home = env.DemoDir
	}
	conv, err := openConversation(set)
	if err != nil {
		return exitError, err
	}
	tty, err := openTTY(stdio)
	if err != nil {
		return exitError, err
	}
	return newAgent(set, env, conv, tty).run(ctx)
}

// writeHelp prints usage, prompts and switches.
func writeHelp(w io.Writer) {
	var b strings.Builder
	b.WriteString(`A scripted agent without a model, for demonstrations and tests.

Usage: termio demo-agent [flags] [--] [prompt]

  --session-id UUID   begin a conversation with this id
  --resume UUID       go on with a conversation
  --allow-all         ask for no permissions
  --speed N           run N times as fast (default 1)
  --log FILE          write every byte of input there, as read
  --events FILE       write what it did there, one JSON object a line
  --probe FILE        be no agent: leave the terminal cooked and write every
                      byte of input there, until end of file
  --NAME=VALUE        a switch; in the environment TERMIO_DEMO_NAME

Prompts are scripts: what stands in [[ ]] is done in order, a prompt without
any gets a reply.

`)
	for _, v := range verbs {
		fmt.Fprintf(&b, "  %-32s %s\n", "[["+strings.TrimSpace(v.name+" "+v.takes)+"]]", v.what)
	}
	b.WriteString("\nSwitches:\n\n")
	for _, s := range switches() {
		fmt.Fprintf(&b, "  %-16s %-34s %s (%s)\n", s.name, s.takes, s.what, s.initial)
	}
	_, _ = io.WriteString(w, b.String()) // nobody is told when help cannot be printed
}
