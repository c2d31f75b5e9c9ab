package main

import (
	"strings"
	"testing"
)

// long is a test's output of which nobody wants to read much.
var long = "    attach_test.go:33: client 0 shows\n" + strings.Repeat("        a line of a screen\n", 40) +
	"    attach_test.go:33: client 1 shows\n" + strings.Repeat("        a line of a screen\n", 40)

const scripted = `        testscript.go:609: # A watch begins. (0.2s)
            > exec termio sessions watch &text&
            [stdout]
            {"snapshot":true}
            > kill -INT text
            > wait text
            FAIL: testdata/script/watch.txtar:49: unexpected command failure
            [background] termio sessions watch: signal: interrupt
`

func TestDigest(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing but the verdict", "=== RUN   TestX\n--- FAIL: TestX (0.00s)\n", ""},
		{
			"each message's beginning", "=== RUN   TestX\n" + long + "    termtest.go:255: log of the daemon:\n        time=2026-01-01T00:00:00Z level=INFO msg=x\n--- FAIL: TestX (0.38s)\n",
			"attach_test.go:33: client 0 shows|a line of a screen|a line of a screen|a line of a screen|" +
				"attach_test.go:33: client 1 shows|a line of a screen|a line of a screen|a line of a screen",
		},
		{"a script's verdict first", scripted, "FAIL: testdata/script/watch.txtar:49: unexpected command failure|[background] termio sessions watch: signal: interrupt|" +
			"testscript.go:609: # A watch begins. (0.2s)|> exec termio sessions watch &text&|[stdout]|{\"snapshot\":true}|> kill -INT text|> wait text"},
		{"a panic", "panic: oh [recovered]\n\ngoroutine 7 [running]:\nmain.f()\n\tf.go:3\nmore\n", "panic: oh [recovered]|goroutine 7 [running]:|main.f()|f.go:3"},
		{"no message", "x\nundefined: y\nFAIL\n", "x|undefined: y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(digest([]string{tt.in}), "|"); got != tt.want {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// However much fails, what is told of it is short, and names what failed.
func TestBriefIsShort(t *testing.T) {
	for _, n := range []int{1, 2, 10, 200} {
		var all []failure
		for range n {
			all = append(all, failure{"p TestX", []string{long}}, failure{"package p", []string{"FAIL\n"}})
		}
		text := brief(all)
		if lines := strings.Count(text, "\n"); lines > maxFailures+3 || !strings.HasPrefix(text, "FAILED p TestX\n    attach_test.go:33: client 0 shows\n") {
			t.Errorf("of %d failures %d lines:\n%s", n, lines, text)
		}
	}
	if got, want := brief([]failure{{"p TestX", nil}}), "FAILED p TestX\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDigestPlain(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{
			"tests", "ok  \ta\t1s\n--- FAIL: TestX (0.1s)\n    --- FAIL: TestX/y (0.1s)\n        x_test.go:3: no\n--- FAIL: TestZ (0.1s)\n    x_test.go:9: never\nFAIL\nFAIL\tb\t2s\nok  \tc\t1s\n",
			"FAILED TestX/y\n    x_test.go:3: no\nFAILED TestZ\n    x_test.go:9: never\n",
		},
		{"a fuzz target", "--- FAIL: FuzzX (10.90s)\n    context deadline exceeded\nFAIL\nexit status 1\n", "FAILED FuzzX\n    context deadline exceeded\n"},
		{"another command", "a\nb\n", "    a\n    b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if err := digestPlain(strings.NewReader(tt.in), &out); err != nil || out.String() != tt.want {
				t.Errorf("got %q, %v\nwant %q", out.String(), err, tt.want)
			}
		})
	}
}
