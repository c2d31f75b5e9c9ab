package vt

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// streams are what the benchmarks write, at least a megabyte each and the same
// in every run. TERMIO_VT_STREAM adds a file of your own.
func streams(tb testing.TB) []struct {
	name string
	data []byte
} {
	list := []struct {
		name string
		data []byte
	}{
		{"plain", plainStream()},
		{"source", sourceStream()},
		{"ansi", ansiStream()},
		{"agent", agentStream()},
		{"unicode", unicodeStream()},
		{"cjk", cjkStream()},
	}
	if name := os.Getenv("TERMIO_VT_STREAM"); name != "" {
		data, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, struct {
			name string
			data []byte
		}{"file", data})
	}
	return list
}

const streamSize = 1 << 20

// plainStream is a build's log: full lines of plain text.
func plainStream() []byte {
	r := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	for i := 0; b.Len() < streamSize; i++ {
		fmt.Fprintf(&b, "%06d ", i)
		for n := 100 + r.IntN(80); n > 0; n -= 8 {
			fmt.Fprintf(&b, "%07x ", r.Uint32()>>4)
		}
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

// sourceStream is short indented lines.
func sourceStream() []byte {
	r := rand.New(rand.NewPCG(2, 1))
	var b bytes.Buffer
	for b.Len() < streamSize {
		b.WriteString(strings.Repeat("    ", r.IntN(4)))
		b.WriteString("if err := doSomething(ctx, value); err != nil {"[:r.IntN(47)])
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

// ansiStream is coloured output: a style for every few words.
func ansiStream() []byte {
	r := rand.New(rand.NewPCG(3, 1))
	var b bytes.Buffer
	for b.Len() < streamSize {
		for n := 0; n < 100; {
			switch r.IntN(3) {
			case 0:
				fmt.Fprintf(&b, "\x1b[%dm", 31+r.IntN(6))
			case 1:
				fmt.Fprintf(&b, "\x1b[38;5;%dm", r.IntN(256))
			default:
				fmt.Fprintf(&b, "\x1b[1;38;2;%d;%d;%dm", r.IntN(256), r.IntN(256), r.IntN(256))
			}
			k := 4 + r.IntN(12)
			b.WriteString("abcdefghijklmnopqrstuvwxyz"[:k])
			b.WriteString("\x1b[0m ")
			n += k + 1
		}
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

// agentStream is what an agent's interface does: it erases its last lines and
// draws a box, a spinner and a status anew, and now and then adds output above.
func agentStream() []byte {
	r := rand.New(rand.NewPCG(4, 1))
	var b bytes.Buffer
	for i := 0; b.Len() < streamSize; i++ {
		b.WriteString("\x1b[?2026h\x1b[?25l")
		b.WriteString(strings.Repeat("\x1b[2K\x1b[1A", 7) + "\x1b[2K\x1b[G")
		if i%5 == 0 {
			fmt.Fprintf(&b, "\x1b[38;2;136;136;136m●\x1b[39m Read(\x1b[1mfile%d.go\x1b[22m)\r\n  ⎿  Read %d lines\r\n", i, r.IntN(500))
		}
		fmt.Fprintf(&b, "\x1b[38;5;174m%c Thinking… \x1b[2m(%ds · ↑ %d tokens · esc to interrupt)\x1b[22m\x1b[39m\r\n\r\n", "✢✳✶✻✽"[i%5*3:][0], i/60, i*7)
		b.WriteString("\x1b[2m╭" + strings.Repeat("─", 98) + "╮\x1b[22m\r\n")
		b.WriteString("\x1b[2m│\x1b[22m > Try \"edit <filepath> to...\"" + strings.Repeat(" ", 69) + "\x1b[2m│\x1b[22m\r\n")
		b.WriteString("\x1b[2m╰" + strings.Repeat("─", 98) + "╯\x1b[22m\r\n")
		b.WriteString("  \x1b[38;2;153;153;153m? for shortcuts\x1b[39m" + strings.Repeat(" ", 50) + "\x1b[38;5;231mBypassing permissions\x1b[39m\r\n\r\n")
		b.WriteString("\x1b[?25h\x1b[?2026l")
	}
	return b.Bytes()
}

// unicodeStream mixes scripts, emoji sequences, marks and box drawing.
func unicodeStream() []byte {
	r := rand.New(rand.NewPCG(5, 1))
	words := strings.Fields("naïve café Привет мир Ελλάδα עברית हिन्दी สวัสดี e\u0301a\u0300 👩\u200d💻 🇩🇪 👍🏽 ❤\ufe0f ✅ 🚀 ├──┤ │ ═══ 日本語 한국어 中文字符")
	var b bytes.Buffer
	for b.Len() < streamSize {
		for range 12 {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

func cjkStream() []byte {
	r := rand.New(rand.NewPCG(6, 1))
	var b bytes.Buffer
	for b.Len() < streamSize {
		for range 10 + r.IntN(48) {
			b.WriteRune(rune(0x4e00 + r.IntN(0x5000)))
		}
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

// feed writes data in the pieces a pty gives.
func feed(s *Screen, data []byte) {
	for len(data) > 0 {
		n := min(4095, len(data))
		s.Write(data[:n])
		data = data[n:]
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, st := range streams(b) {
		b.Run(st.name, func(b *testing.B) {
			s := New(Options{Cols: 200, Rows: 50, History: 10000})
			feed(s, st.data)
			feed(s, st.data)
			b.SetBytes(int64(len(st.data)))
			b.ReportAllocs()
			for b.Loop() {
				feed(s, st.data)
			}
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	for _, st := range streams(b) {
		b.Run(st.name, func(b *testing.B) {
			s := New(Options{Cols: 200, Rows: 50, History: 10000})
			feed(s, st.data)
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				out = s.AppendReplay(out[:0], 0)
			}
			b.ReportMetric(float64(len(out)), "bytes")
		})
	}
}

func BenchmarkReplayHistory(b *testing.B) {
	s := New(Options{Cols: 200, Rows: 50, History: 10000})
	for range 4 {
		feed(s, ansiStream())
	}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = s.AppendReplay(out[:0], s.HistoryLen())
	}
	b.SetBytes(int64(len(out)))
}

func BenchmarkBinary(b *testing.B) {
	s := New(Options{Cols: 200, Rows: 50, History: 10000})
	for range 4 {
		feed(s, ansiStream())
	}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out, _ = s.AppendBinary(out[:0])
	}
	b.SetBytes(int64(len(out)))
}

func BenchmarkResize(b *testing.B) {
	for _, st := range streams(b)[:3] {
		b.Run(st.name, func(b *testing.B) {
			s := New(Options{Cols: 200, Rows: 50, History: 10000})
			for s.HistoryLen() < 10000 {
				feed(s, st.data)
			}
			cols := 200
			for b.Loop() {
				cols = 300 - cols
				s.Resize(cols, 50)
			}
		})
	}
}
