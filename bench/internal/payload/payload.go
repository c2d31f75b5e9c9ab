// Package payload makes what the sessions of a benchmark write: the same bytes in
// every run and on every machine, as much as is asked for.
//
// The kinds are those that terminals differ in: plain text, coloured text, text of
// many scripts, and an agent's redraws. Only characters are used on whose width
// every multiplexer agrees, so that their screens can be compared afterwards.
//
// Functions may be called concurrently.
package payload

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Kinds are the payloads, in the order of the tables.
var Kinds = []string{"plain", "ansi", "unicode", "agent"}

// Make makes at least size bytes of a kind, in whole lines or frames. It ends with a
// few plain lines, the last of which is Mark.
func Make(kind string, size int) ([]byte, error) {
	line, ok := lines[kind]
	if !ok {
		return nil, fmt.Errorf("no payload %q; there are: %s", kind, strings.Join(Kinds, ", "))
	}
	r := rand.New(rand.NewPCG(uint64(len(kind)), uint64(kind[0])))
	var b bytes.Buffer
	b.Grow(size + size/8)
	for i := 0; b.Len() < size; i++ {
		line(&b, r, i)
	}
	b.WriteString("\x1b[0m\x1b[?25h\n" + Mark + "\n")
	return b.Bytes(), nil
}

// Mark stands at a payload's end and nowhere else in it.
const Mark = "@@the-end-of-it@@"

var lines = map[string]func(b *bytes.Buffer, r *rand.Rand, i int){
	"plain":   plain,
	"ansi":    ansi,
	"unicode": unicode,
	"agent":   agent,
}

const letters = "abcdefghijklmnopqrstuvwxyz"

// plain is the log of a build: lines of plain text, of all lengths.
func plain(b *bytes.Buffer, r *rand.Rand, i int) {
	fmt.Fprintf(b, "%07d ", i)
	for n := 20 + r.IntN(130); n > 0; n -= 8 {
		fmt.Fprintf(b, "%07x ", r.Uint32()>>4)
	}
	b.WriteByte('\n')
}

// ansi is coloured output: a style for every word.
func ansi(b *bytes.Buffer, r *rand.Rand, _ int) {
	for n := 0; n < 100; {
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(b, "\x1b[%dm", 31+r.IntN(6))
		case 1:
			fmt.Fprintf(b, "\x1b[38;5;%dm", r.IntN(256))
		default:
			fmt.Fprintf(b, "\x1b[1;38;2;%d;%d;%dm", r.IntN(256), r.IntN(256), r.IntN(256))
		}
		k := 4 + r.IntN(12)
		b.WriteString(letters[:k] + "\x1b[0m ")
		n += k + 1
	}
	b.WriteByte('\n')
}

var words = strings.Fields("naïve café Привет мир Ελλάδα łódź žluťoučký ├──┤ │ ═══ ░▒▓ 日本語 한국어 中文字符 こんにちは 世界")

// unicode mixes scripts: two and three bytes a letter, narrow and wide.
func unicode(b *bytes.Buffer, r *rand.Rand, _ int) {
	for range 14 {
		b.WriteString(words[r.IntN(len(words))] + " ")
	}
	b.WriteByte('\n')
}

// agent is what a coding agent's interface does: it erases its last lines and draws a
// spinner, a box and a status anew, and now and then adds output above them.
func agent(b *bytes.Buffer, r *rand.Rand, i int) {
	b.WriteString("\x1b[?2026h\x1b[?25l" + strings.Repeat("\x1b[2K\x1b[1A", 6) + "\x1b[2K\x1b[G")
	if i%5 == 0 {
		fmt.Fprintf(b, "\x1b[38;2;136;136;136m●\x1b[39m Read(\x1b[1mfile%d.go\x1b[22m)\n  └ Read %d lines\n", i, r.IntN(500))
	}
	fmt.Fprintf(b, "\x1b[38;5;174m%c Thinking… \x1b[2m(%ds · ↑ %d tokens · esc to interrupt)\x1b[22m\x1b[39m\n\n", "|/-\\"[i%4], i/60, i*7)
	b.WriteString("\x1b[2m╭" + strings.Repeat("─", 98) + "╮\x1b[22m\n")
	b.WriteString("\x1b[2m│\x1b[22m > Try \"edit <filepath> to...\"" + strings.Repeat(" ", 69) + "\x1b[2m│\x1b[22m\n")
	b.WriteString("\x1b[2m╰" + strings.Repeat("─", 98) + "╯\x1b[22m\n")
	b.WriteString("  \x1b[38;2;153;153;153m? for shortcuts\x1b[39m" + strings.Repeat(" ", 50) + "\x1b[38;5;231mBypassing permissions\x1b[39m\n")
	b.WriteString("\x1b[?25h\x1b[?2026l")
}
