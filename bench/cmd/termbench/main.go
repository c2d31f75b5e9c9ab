// Command termbench measures termio beside tmux, screen and dtach:
//
//	go run ./bench/cmd/termbench --full
//	go run ./bench/cmd/termbench --quick --check bench/gates.json
//	go run ./bench/cmd/termbench --only D1,E1 --rounds 25
//
// It builds what it measures, runs in a temporary folder with homes and servers of its
// own, and leaves nothing behind. bench/README.md tells what the figures mean.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"termio/bench/internal/kid"
	"termio/bench/internal/stat"
	"termio/bench/internal/suite"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "kid" {
		if err := runKid(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "termbench kid:", err)
			os.Exit(1)
		}
		return
	}
	// A reader of the output that goes is an interrupt like the others: what runs must be ended.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	switch err := run(ctx, os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "termbench:", err)
		os.Exit(1)
	}
}

// runKid plays the program in a session, or its child that posts reports. What else the
// arguments hold is the prompt of a session that has to be started with one.
func runKid(args []string) error {
	if len(args) > 0 && args[0] == "post" {
		return kid.RunPoster(os.Environ(), os.Stdin, os.Stdout)
	}
	return kid.Run(os.Environ())
}

// flags are the command line.
type flags struct {
	suite.Options
	full   bool
	json   string
	table  string
	check  string
	gates  string
	termio string
}

func parse(args []string) (flags, error) {
	var f flags
	fs := flag.NewFlagSet("termbench", flag.ContinueOnError)
	fs.BoolVar(&f.Quick, "quick", false, "fewer rounds, shorter trials, no crowds: under three minutes")
	fs.BoolVar(&f.full, "full", false, "everything (the default)")
	fs.IntVar(&f.Rounds, "rounds", 0, "how many `rounds` each figure gets")
	only := fs.String("only", "", "the `figures` to measure, or beginnings of their names, such as D1,E,L1.100")
	fs.Float64Var(&f.Foreign, "foreign", 0.15, "how many `cores` other processes may use when a trial begins; 99 measures whatever goes on")
	fs.DurationVar(&f.Patience, "patience", 0, "how `long` a trial waits for that (20s, with --quick 2s); all together wait ten times as long at most")
	fs.DurationVar(&f.Within, "within", 0, "leave out what has not begun after so `long` (with --quick 150s)")
	fs.StringVar(&f.json, "json", "", "write every reading to a `file`")
	fs.StringVar(&f.table, "table", "", "write the tables to a `file` too")
	fs.StringVar(&f.check, "check", "", "fail where a figure is past its gate in this `file`; with --quick, only where noise cannot be the reason")
	fs.StringVar(&f.gates, "gates", "bench/gates.json", "the `file` of gates and goals that the tables tell of")
	fs.StringVar(&f.termio, "termio", "", "the `program` to measure, instead of this folder's")
	if err := fs.Parse(args); err != nil {
		return f, err
	}
	if fs.NArg() > 0 || f.Quick && f.full {
		return f, fmt.Errorf("takes flags only, and one of --quick and --full; see --help")
	}
	if *only != "" {
		f.Only = strings.Split(*only, ",")
	}
	if f.check != "" {
		f.gates = f.check
	}
	patience := 20 * time.Second
	if f.Quick {
		patience = 2 * time.Second
		if f.Within == 0 {
			f.Within = 150 * time.Second
		}
	}
	if f.Patience == 0 {
		f.Patience = patience
	}
	return f, nil
}

func run(ctx context.Context, args []string) error {
	f, err := parse(args)
	if err != nil {
		return err
	}
	gates, err := stat.ReadGates(f.gates)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "termbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, &f, dir); err != nil {
		return err
	}
	f.Log = os.Stderr
	s, err := suite.Run(ctx, f.Options)
	if err != nil {
		return err
	}
	report := s.Report(strings.Join(append([]string{"termbench"}, args...), " "), gates)
	if err := write(f.json, report.JSON); err != nil {
		return err
	}
	if err := write(f.table, report.Markdown); err != nil {
		return err
	}
	if err := report.Markdown(os.Stdout); err != nil {
		return err
	}
	if f.check == "" {
		return nil
	}
	if failed := report.Failed(f.Quick); len(failed) > 0 {
		return fmt.Errorf("%d failed:\n  %s", len(failed), strings.Join(failed, "\n  "))
	}
	return nil
}

// build builds the programs, as they are published, with the version of their source;
// what is measured only where no other program is named.
func build(ctx context.Context, f *flags, dir string) (err error) {
	if f.Bench, err = os.Executable(); err != nil {
		return err
	}
	if f.termio != "" {
		if f.Termio, err = filepath.Abs(f.termio); err != nil {
			return err
		}
	}
	for _, b := range []struct {
		path *string
		of   string
	}{{&f.Termio, "termio/cmd/termio"}, {&f.Bare, "termio/bench/cmd/bare"}, {&f.Post, "termio/bench/cmd/post"}} {
		if *b.path != "" {
			continue
		}
		*b.path = filepath.Join(dir, filepath.Base(b.of))
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", *b.path, b.of)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %s: %w", b.of, err)
		}
	}
	return nil
}

// write writes a report to a file, if one is wanted.
func write(file string, report func(io.Writer) error) error {
	if file == "" {
		return nil
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(report(out), out.Close())
}
