package demo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComposerKeys(t *testing.T) {
	tests := []struct{ name, keys, want string }{
		{"insert in the middle", "ac<left>b", "ab|c"},
		{"wide characters are one", "漢字<left><backspace>x", "x|字"},
		{"so are families", "a👩‍👩‍👧b<left><backspace>", "a|b"},
		{"and combining marks", "e\u0301x<left><backspace>", "|x"},
		{"line ends", "one<ctrl+j>two<home>x<end>y", "one\nxtwoy|"},
		{"up keeps the column", "漢字x<ctrl+j>abcd<up>|", "漢字||x\nabcd"},
		{"down to a shorter line", "abcd<ctrl+j>x<up><end><down>y", "abcd\nxy|"},
		{"up at the top stays", "ab<up>c", "abc|"},
		{"kill to the end", "one two<home><right><ctrl+k>", "o|"},
		{"kill to the start", "one two<left><ctrl+u>", "|o"},
		{"kill a word", "one two  <ctrl+w>x", "one x|"},
		{"backspace over a new line", "a<ctrl+j><backspace>b", "ab|"},
		{"delete", "abc<home><delete>", "|bc"},
		{"nothing to delete", "<backspace><delete><left><right><ctrl+w>", "|"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c composer
			for rest := tt.keys; rest != ""; {
				if key, after, ok := strings.Cut(rest, ">"); ok && rest[0] == '<' {
					if !c.key(key[1:]) {
						t.Fatalf("no key %s", key)
					}
					rest = after
					continue
				}
				n := strings.IndexByte(rest, '<')
				if n < 0 {
					n = len(rest)
				}
				c.insert(rest[:n])
				rest = rest[n:]
			}
			if got := c.value[:c.pos] + "|" + c.value[c.pos:]; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestComposerRows(t *testing.T) {
	tests := []struct {
		name, value string
		pos         int
		most        int
		rows        []string
		x, y        int
	}{
		{"empty", "", 0, 3, []string{""}, 0, 0},
		{"short", "ab", 2, 3, []string{"ab"}, 2, 0},
		{"full row, the cursor waits on the next", "abcd", 4, 3, []string{"abcd", ""}, 0, 1},
		{"wrapped", "abcdef", 5, 3, []string{"abcd", "ef"}, 1, 1},
		{"a wide character does not fit the last cell", "abc漢", 6, 3, []string{"abc", "漢"}, 2, 1},
		{"lines", "a\n\nb", 2, 3, []string{"a", "", "b"}, 0, 1},
		{"the rows around the cursor", "1\n2\n3\n4\n5", 9, 3, []string{"3", "4", "5"}, 1, 2},
		{"from the top", "1\n2\n3\n4\n5", 0, 3, []string{"1", "2", "3"}, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := composer{value: tt.value, pos: tt.pos}
			rows, x, y := c.rows(4, tt.most)
			if diff := cmp.Diff(tt.rows, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if x != tt.x || y != tt.y {
				t.Errorf("cursor %d,%d, want %d,%d", x, y, tt.x, tt.y)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		cells int
		want  []string
	}{
		{"one two three", 8, []string{"one two", "three"}},
		{"exactly8", 8, []string{"exactly8"}},
		{"one two ", 7, []string{"one two", ""}},
		{"unbreakable", 4, []string{"unbr", "eaka", "ble"}},
		{"漢字漢字", 5, []string{"漢字", "漢字"}},
		{"漢", 1, []string{"漢"}},
		{"a\n\nb", 9, []string{"a", "", "b"}},
	} {
		if diff := cmp.Diff(tt.want, wrap(tt.text, tt.cells)); diff != "" {
			t.Errorf("%q in %d cells (-want +got):\n%s", tt.text, tt.cells, diff)
		}
	}
}

func TestParseScript(t *testing.T) {
	for _, tt := range []struct{ prompt, words, steps string }{
		{"plain words", "plain words", ""},
		{"before [[say hi]] between [[work 2s]] after", "before between after", "say hi|work 2s"},
		{"[[tool bash: ls -l]]", "", "tool bash ls -l"},
		{"[[tool 3s bash: make all: the rest]]", "", "tool 3s bash make all: the rest"},
		{"[[ask Why?|A|B]]", "", "ask Why? [A B]"},
		{"[[say: with a colon]]", "", "say with a colon"},
		{"[[lines 3]][[exit 4]]", "", "lines 3|exit 4"},
		{"[[set hooks=late]]", "", "set [hooks late]"},
		{"[[work soon]]", "", `? [[work soon]]: work "soon" is no time such as 300ms or 2s`},
		{"[[set colour=red]]", "", `? [[set colour=red]]: set no switch "colour"`},
		{"[[dance]]", "", `? no directive "dance"; /help lists them`},
		{"[[ask Why?||B]]", "", "? [[ask Why?||B]]: ask has an empty part"},
		{"an open [[say one", "an open [[say one", ""},
		{"]] closed [[say a]] ]]", "]] closed ]]", "say a"},
		{"[[hook Start]]", "", `? [[hook Start]]: hook "Start" is none of the events Notification, PermissionRequest, PostToolUse, PreCompact, PreToolUse, SessionEnd, SessionStart, Stop, StopFailure, SubagentStart, SubagentStop, UserPromptSubmit`},
	} {
		sc := parseScript(tt.prompt)
		var steps []string
		for _, s := range sc.steps {
			steps = append(steps, s.String())
		}
		if got := strings.Join(steps, "|"); got != tt.steps || sc.words != tt.words {
			t.Errorf("%q\n got %q and %q\nwant %q and %q", tt.prompt, sc.words, got, tt.words, tt.steps)
		}
	}
}
