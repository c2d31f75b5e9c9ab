// Command testsum reads the events of `go test -json` on standard input, prints a
// line for each package and the output of what failed, and closes with the counts.
// A skipped test is named with its reason, so that nobody takes it for a passed
// one. It exits 1 when a test or a package failed, or when it saw none.
//
// What failed is told once more in few lines, to be printed where a long run ends:
// with -failures into a file. With -digest it reads what a command printed, such as
// `go test` without -json, and prints those few lines of it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	Elapsed    float64
}

// tally is what has been seen so far.
type tally struct {
	passed, failed, packages int
	skipped                  []string
	output                   map[string][]string // by package and test
	builds                   []string            // what the compiler said
	failures                 []failure
}

func main() {
	summary := flag.String("summary", "", "append the closing lines to this file")
	failures := flag.String("failures", "", "append a few lines on each failure to this file")
	plain := flag.Bool("digest", false, "read what a command printed, and print a few lines on its failures")
	flag.Parse()
	if *plain {
		if err := digestPlain(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "testsum:", err)
			os.Exit(1)
		}
		return
	}
	ok, err := run(os.Stdin, os.Stdout, *summary, *failures)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run reads events to the end and reports whether all passed.
func run(in io.Reader, out io.Writer, summary, failures string) (bool, error) {
	t := tally{output: map[string][]string{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(out, line) // of the go command itself
			} else {
				t.add(out, e)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, err
		}
	}
	closing := t.closing()
	fmt.Fprint(out, closing)
	if err := appendTo(summary, closing); err != nil {
		return false, err
	}
	if err := appendTo(failures, brief(t.failures)); err != nil {
		return false, err
	}
	return t.failed == 0 && t.passed > 0, nil
}

// appendTo adds text to a file, if there is one.
func appendTo(file, text string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// add takes in one event and prints what the reader needs to know at once.
func (t *tally) add(out io.Writer, e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(out, e.Output)
		t.builds = append(t.builds, e.Output)
	case "output":
		t.output[key] = append(t.output[key], e.Output)
	case "pass", "fail", "skip":
		switch {
		case e.Test == "":
			t.endPackage(out, e)
		case e.Action == "pass":
			t.passed++
		case e.Action == "fail":
			t.failed++
			fmt.Fprintf(out, "%s\n%s", key, strings.Join(t.output[key], ""))
			t.failures = append(t.failures, failure{key, t.output[key]})
		case e.Action == "skip":
			t.skipped = append(t.skipped, key+": "+t.reason(key))
		}
		delete(t.output, key)
	}
}

// endPackage prints a package's line. A package can fail while each of its tests
// passed: it did not build, a process was left, the binary was killed.
func (t *tally) endPackage(out io.Writer, e event) {
	if e.Action == "skip" {
		return // no tests
	}
	t.packages++
	fmt.Fprintf(out, "%-4s %-36s %6.1f s\n", e.Action, e.Package, e.Elapsed)
	if e.Action == "fail" {
		t.failed++
		said := t.output[e.Package+" "]
		fmt.Fprint(out, strings.Join(said, ""))
		t.failures = append(t.failures, failure{"package " + e.Package, append(t.builds, said...)})
		t.builds = nil
		for _, key := range t.unfinished(e.Package) {
			fmt.Fprintf(out, "%s (never ended)\n%s", key, strings.Join(t.output[key], ""))
			t.failures = append(t.failures, failure{key + " (never ended)", t.output[key]})
		}
	}
}

// unfinished are the tests of a package that were running when its binary ended.
func (t *tally) unfinished(pkg string) []string {
	var keys []string
	for key := range t.output {
		if strings.HasPrefix(key, pkg+" ") && key != pkg+" " {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// reason is what a skipped test said last.
func (t *tally) reason(key string) string {
	for _, line := range slices.Backward(t.output[key]) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "===") {
			return line
		}
	}
	return "no reason given"
}

// closing are the lines that sum up a run.
func (t *tally) closing() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d passed, %d failed, %d skipped in %d packages\n", t.passed, t.failed, len(t.skipped), t.packages)
	for _, s := range t.skipped {
		fmt.Fprintf(&b, "skipped %s\n", s)
	}
	return b.String()
}
