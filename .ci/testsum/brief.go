package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// failure is what failed and what it printed.
type failure struct {
	name   string
	output []string // with their line ends
}

// How much is told of failures, all together and of one.
const (
	maxFailures = 40 // lines
	maxOfOne    = 12 // lines
	maxLine     = 240
)

var (
	// noise is what tests print beside their verdict.
	noise = regexp.MustCompile(`^\s*(=== |--- |time=\S+ level=|FAIL\s*$|exit status \d+$|-test\.shuffle|$)|^\s*\S+\.go:\d+: log of the daemon:$`)
	// head begins a message: of a test, of a script, of the runtime.
	head = regexp.MustCompile(`^\s*(\S+\.go:\d+: |panic: |fatal error: |WARNING: DATA RACE|FAIL: |\S+: FAIL|error: )`)
	// script is where a script failed; what it ran stands above.
	script = regexp.MustCompile(`^\s*FAIL: \S+\.txtar:\d+: `)
	// ownVerdict is how a test that fails ends in plain output.
	ownVerdict = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
)

// brief tells of each failure in a few lines. A test that failed by its subtests alone
// has nothing of its own to tell, nor has a package by its tests.
func brief(all []failure) string {
	type told struct {
		name  string
		lines []string
	}
	var tell []told
	bare := 0
	for _, f := range all {
		if lines := digest(f.output); len(lines) > 0 {
			tell = append(tell, told{f.name, lines})
		} else {
			bare++
		}
	}
	if len(tell) == 0 && bare > 0 {
		for _, f := range all {
			tell = append(tell, told{name: f.name})
		}
	}
	each := min(maxOfOne, max(maxFailures/max(len(tell), 1)-1, 2))
	var b strings.Builder
	for i, t := range tell {
		if i*(each+1) >= maxFailures {
			fmt.Fprintf(&b, "… and %d more\n", len(tell)-i)
			break
		}
		fmt.Fprintf(&b, "FAILED %s\n", t.name)
		for _, line := range t.lines[:min(each, len(t.lines))] {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	return b.String()
}

// digest are the lines of an output that say why: the beginning of each message; of a
// script, the verdict and what led to it.
func digest(output []string) []string {
	var lines []string
	for _, text := range output {
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, " \r\n"); !noise.MatchString(line) {
				lines = append(lines, cut(strings.TrimSpace(line)))
			}
		}
	}
	for i, line := range lines {
		if script.MatchString(line) {
			return slices.Concat(lines[i:min(len(lines), i+2)], lines[max(0, i-maxOfOne+2):i])
		}
	}
	const ofMessage = 4
	var told []string
	left := 0
	for _, line := range lines {
		if head.MatchString(line) {
			left = ofMessage
		}
		if left > 0 {
			told = append(told, line)
			left--
		}
	}
	if len(told) == 0 {
		return lines[max(0, len(lines)-maxOfOne):]
	}
	return told[:min(len(told), maxOfOne)]
}

// cut shortens a line.
func cut(line string) string {
	if utf8.RuneCountInString(line) <= maxLine {
		return line
	}
	return string([]rune(line)[:maxLine]) + "…"
}

// digestPlain prints the few lines of a command's whole output.
func digestPlain(in io.Reader, out io.Writer) error {
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var all []failure
	var before []string
	inside := false
	for line := range strings.Lines(string(data)) {
		switch m := ownVerdict.FindStringSubmatch(line); {
		case m != nil:
			all, inside = append(all, failure{name: m[1]}), true
		case inside && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")):
			all[len(all)-1].output = append(all[len(all)-1].output, line)
		default:
			before, inside = append(before, line), false
		}
	}
	text := brief(all)
	if text == "" {
		for _, line := range before[max(0, len(before)-maxOfOne):] {
			text += "    " + cut(strings.TrimRight(line, "\r\n")) + "\n"
		}
	}
	_, err = io.WriteString(out, text)
	return err
}
