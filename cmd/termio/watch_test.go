package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/config"
	"termio/internal/vt"
)

// patience bounds what a script waits for; nothing that passes takes as long.
const patience = 3 * time.Minute

// watchersKey is where a script keeps its watchers by name.
type watchersKey struct{}

// A watcher is a `termio sessions watch` that a script runs beside itself.
type watcher struct {
	cmd   *exec.Cmd
	lines chan string // closed at the watch's end
	end   chan error
	errs  bytes.Buffer // to be read after end
}

// watching [-text] NAME [flags…] starts a watch, with JSON unless text is asked for.
// Once seen has given a line of it, whatever a script does next is told as well.
func watching(ts *testscript.TestScript, neg bool, args []string) {
	form := []string{"--json"}
	if len(args) > 0 && args[0] == "-text" {
		form, args = nil, args[1:]
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: watching [-text] NAME [flags…]")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	ts.Defer(cancel)
	w := &watcher{
		cmd:   exec.CommandContext(ctx, "termio", slices.Concat([]string{"sessions", "watch"}, form, args[1:])...),
		lines: make(chan string), end: make(chan error, 1),
	}
	w.cmd.Dir, w.cmd.Env = ts.MkAbs("."), environ(ts)
	w.cmd.Stderr = &w.errs
	out, err := w.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(w.cmd.Start())
	go func() {
		for sc := bufio.NewScanner(out); sc.Scan(); {
			select {
			case w.lines <- sc.Text():
			case <-ctx.Done():
			}
		}
		close(w.lines)
		w.end <- w.cmd.Wait()
	}()
	ts.Value(watchersKey{}).(map[string]*watcher)[args[0]] = w
}

// named finds a watcher.
func named(ts *testscript.TestScript, name string) *watcher {
	w := ts.Value(watchersKey{}).(map[string]*watcher)[name]
	if w == nil {
		ts.Fatalf("no watch is named %s", name)
	}
	return w
}

// seen NAME REGEXP waits until a watch prints a line that matches. All lines up
// to it are standard output.
func seen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: seen NAME REGEXP")
	}
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	for line := range named(ts, args[0]).lines {
		fmt.Fprintln(ts.Stdout(), line)
		if re.MatchString(line) {
			return
		}
	}
	ts.Fatalf("the watch ended before a line matched %s", args[1])
}

// ended NAME [CODE] wants a watch to end with the code. Without one it is ended by
// SIGTERM, or with INT as by Ctrl-C, which are its normal ends: code 0. What it still
// had to say is standard output.
func ended(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: ended NAME [CODE|INT]")
	}
	w, want := named(ts, args[0]), 0
	switch {
	case len(args) == 1:
		ts.Check(w.cmd.Process.Signal(syscall.SIGTERM))
	case args[1] == "INT":
		ts.Check(w.cmd.Process.Signal(syscall.SIGINT))
	default:
		var err error
		want, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	for line := range w.lines {
		fmt.Fprintln(ts.Stdout(), line)
	}
	fmt.Fprintln(ts.Stdout()) // else the output of the command before would stand
	err, got := <-w.end, 0
	fmt.Fprintln(ts.Stderr(), w.errs.String())
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("watch: %v", err)
	}
	if got != want {
		ts.Fatalf("the watch ended with exit code %d, want %d", got, want)
	}
}

// sees REGEXP [flags…] watches until a line matches.
func sees(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: sees REGEXP [flags…]")
	}
	const name = "sees"
	watching(ts, false, append([]string{name}, args[1:]...))
	seen(ts, false, []string{name, args[0]})
	ended(ts, false, []string{name})
}

// shows LINK REGEXP waits until a session's screen matches, as a client that is not
// shown would see it.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shows LINK REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	env, err := config.FromEnv(environ(ts))
	ts.Check(err)
	c, err := client.Dial(ctx, env.Paths, client.Options{Cwd: ts.MkAbs("."), Session: env.Session})
	ts.Check(err)
	at, err := c.Attach(ctx, args[0], client.AttachOptions{})
	ts.Check(err)
	defer at.Close()
	screen := vt.New(vt.Options{Cols: 80, Rows: 24})
	for {
		f, err := at.Read()
		if err != nil {
			ts.Fatalf("waiting for %s: %v; the screen is\n%s", args[1], err, strings.Join(screen.Text(), "\n"))
		}
		const seq = 8
		if f.Kind == api.FrameSnapshot || f.Kind == api.FrameOutput {
			_, _ = screen.Write(f.Payload[seq:])
		}
		if text := strings.Join(screen.Text(), "\n"); re.MatchString(text) {
			fmt.Fprintln(ts.Stdout(), text)
			return
		}
	}
}
