package agent

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"termio/internal/api"
)

// permissionScreen is a whole screen of Claude Code with a dialog at the bottom, its
// mark on the first option.
func permissionScreen(above ...string) ScreenView {
	rows := append(above,
		strings.Repeat("─", 60),
		" Bash command",
		" Do you want to proceed?",
		" ❯ 1. Yes",
		"   2. Yes, and don't ask again",
		"   3. No, and tell Claude what to do differently (esc)",
		"",
		" Esc to cancel · Tab to amend",
		"", "",
	)
	return ScreenView{Rows: rows, CursorX: 1, CursorY: len(above) + 3}
}

func composerScreen(above ...string) ScreenView {
	rows := append(above, strings.Repeat("─", 60), "❯ ", strings.Repeat("─", 60), "  ? for shortcuts")
	return ScreenView{Rows: rows, CursorX: 2, CursorY: len(above) + 1}
}

// TestFindDialogNeedsPlace: the words of a dialog are none of one where they do not
// stand as a dialog does.
func TestFindDialogNeedsPlace(t *testing.T) {
	m := builtin(t, "claude")
	dialog := permissionScreen("● I will use Bash.", "")
	edit := func(change func(v *ScreenView)) ScreenView {
		v := permissionScreen("● I will use Bash.", "")
		change(&v)
		return v
	}
	for _, tt := range []struct {
		name string
		view ScreenView
		want bool
	}{
		{"open", dialog, true},
		{"at the top of a short screen", permissionScreen(), true},
		{"printed, the composer below", composerScreen(dialog.Rows...), false},
		{"in a code block", composerScreen("● Here:", "  ```", "  Do you want to proceed?", "  ❯ 1. Yes", "    2. No", "  ```", "  Esc to cancel"), false},
		{"in a diff", composerScreen("  12 +  Do you want to proceed?", "  13 +  ❯ 1. Yes", "  14 -    2. No", " Esc to cancel"), false},
		{"a question in prose", composerScreen("● Would you like me to go on?", "  1. Yes", "  2. No"), false},
		{"streamed, with nothing below yet", ScreenView{Rows: []string{"● Do you want to proceed?", "  ❯ 1. Yes", "    2. No"}, CursorY: 9}, false},
		{"the cursor is elsewhere", edit(func(v *ScreenView) { v.CursorY = 20 }), false},
		{"no mark", edit(func(v *ScreenView) { v.Rows[5] = "   1. Yes" }), false},
		{"two marks", edit(func(v *ScreenView) { v.Rows[6] = " ❯ 2. Yes" }), true}, // only one is under the cursor
		{"a number is missing", edit(func(v *ScreenView) { v.Rows[5] = " ❯ 2. Yes"; v.Rows[6] = "   3. No"; v.Rows[7] = "" }), false},
		{"no footer", edit(func(v *ScreenView) { v.Rows[9] = "" }), false},
		{"text below the footer", edit(func(v *ScreenView) { v.Rows = append(v.Rows, "$ ls", "a", "b", "$") }), false},
		{"empty", ScreenView{}, false},
		{"blank", ScreenView{Rows: []string{"", "   ", ""}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, got := m.FindDialog(tt.view)
			if got != tt.want {
				t.Errorf("FindDialog = %v, %+v; want %v", got, d, tt.want)
			}
		})
	}
	if _, ok := (*Manifest)(nil).FindDialog(dialog); ok {
		t.Error("a plain shell has a dialog")
	}
}

// TestFindDialogForms are dialogs as other programs draw them, by the default rule.
func TestFindDialogForms(t *testing.T) {
	m := mustParse(t, head+`"dialogs":[{"name":"d","kind":"permission","footer":["^[│ ]*(esc|enter)\\b"],"answer":"move"}]}`)
	for _, tt := range []struct {
		name, screen, want string
	}{
		{"a box", `
╭──────────────────────╮
│ Allow this command?  │
│                      │
│ › Yes                │
│   No                 │
│                      │
│ enter to choose      │
╰──────────────────────╯`, `permission "Allow this command?" [1 selected Yes] [2 No]`},
		{"numbers in brackets", `
Apply this change?
▶ 1) Yes, once
  2) No
esc to cancel`, `permission "Apply this change?" [1 selected Yes, once] [2 No]`},
		{"boxes to tick", `
Which ones?
❯ 1. [x] Red
  2. [ ] Blue
enter to go on`, `permission "Which ones?" several of [1 selected chosen Red] [2 Blue]`},
		{"two lines of question", `
A file named a.txt
is there. Replace it?

❯ Replace
  Keep
esc to cancel`, `permission "A file named a.txt is there. Replace it?" [1 selected Replace] [2 Keep]`},
		{"a list without a mark", `
Things:
1. Yes
2. No
enter to go on`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := ParseScreen(strings.TrimPrefix(tt.screen, "\n"))
			got := ""
			if d, ok := m.FindDialog(v); ok {
				got = tellDialog(d)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestComposer(t *testing.T) {
	m := builtin(t, "claude")
	rule := strings.Repeat("─", 40)
	for _, tt := range []struct {
		name string
		rows []string
		dim  string
		want Composer
	}{
		{"empty", []string{"● Done.", "", rule, "❯\u00a0", rule, "  ? for shortcuts"}, "", Composer{Found: true, Empty: true, Row: 3}},
		{"draft", []string{rule, "❯\u00a0fix the", rule, "  x"}, "", Composer{Found: true, Draft: "fix the", Row: 1}},
		{"several rows", []string{rule, "❯ one", "  two", "", "  three", rule, "  x"}, "", Composer{Found: true, Draft: "one\ntwo\n\nthree", Row: 1}},
		{"suggestion", []string{rule, "❯ Try \"edit a.go\"", rule, "  x"}, "\n  ###############", Composer{Found: true, Empty: true, Row: 1}},
		{"suggestion under the cursor", []string{rule, "❯ Try \"edit a.go\"", rule, "  x"}, "\n   ##############", Composer{Found: true, Empty: true, Row: 1}},
		{"half of it is typed", []string{rule, "❯ Try \"edit a.go\"", rule, "  x"}, "\n        #########", Composer{Found: true, Draft: "Try \"edit a.go\"", Row: 1}},
		{"placeholder", []string{rule, "❯ Press up to edit queued messages", rule, "  x"}, "", Composer{Found: true, Empty: true, Row: 1}},
		{"an earlier prompt is no composer", []string{"❯ do it", "", "● Done."}, "", Composer{}},
		{"far above the bottom", append([]string{rule, "❯ x", rule}, strings.Split(strings.Repeat("text\n", 20), "\n")...), "", Composer{}},
		{"two, and the last one counts", []string{rule, "❯ old", rule, "text", rule, "❯ new", rule}, "", Composer{Found: true, Draft: "new", Row: 5}},
		{"nothing", nil, "", Composer{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := ScreenView{Rows: tt.rows}
			if tt.dim != "" {
				v.Dim = dimFrom(tt.dim)
			}
			if diff := cmp.Diff(tt.want, m.Composer(v)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if c := (*Manifest)(nil).Composer(composerScreen()); c.Found {
		t.Error("a plain shell has a composer")
	}
}

// TestComposerBlankRow: a blank row of a draft has lost its indentation, as every row's end
// is trimmed, and belongs to the composer all the same.
func TestComposerBlankRow(t *testing.T) {
	for id, rows := range map[string][]string{
		"gemini":   {strings.Repeat("▄", 20), " > one", "", "   two", "", strings.Repeat("▀", 20), " ~/shop"},
		"qwen":     {strings.Repeat("─", 20), "> one", "", "  two", "", strings.Repeat("─", 20), "  ? for shortcuts"},
		"opencode": {"  ┃", "  ┃  one", "  ┃", "  ┃  two", "  ┃", "  ┃  Build · Fake Model", "  ╹"},
		"copilot":  {"╻" + strings.Repeat("▄", 20), "┃ one", "┃", "┃ two", "┃", "╹" + strings.Repeat("▀", 20), " shift+tab"},
	} {
		if c := builtin(t, id).Composer(ScreenView{Rows: rows, CursorY: -1}); c.Draft != "one\n\ntwo" {
			t.Errorf("%s: %+v", id, c)
		}
	}
}

func TestReady(t *testing.T) {
	bare := mustParse(t, head+`"hooks":{"file":"~/f","events":[{"on":"Start","state":"idle"}]},
		"statusFile":{"path":"~/{pid}","state":"s","values":{}},"ready":{"hook":"Start","title":["^ready"],"screen":["^> $"],"program":"idle","file":"done"}}`)
	for _, tt := range []struct {
		name string
		m    *Manifest
		view ScreenView
		seen Seen
		want bool
		sign string
	}{
		{"a shell", nil, ScreenView{}, Seen{}, false, ""},
		{"an agent that says nothing of it", mustParse(t, head+`"order":1}`), composerScreen(), Seen{}, false, ""},
		{"nothing yet", bare, ScreenView{}, Seen{Program: "working", File: "idle", Hooks: []string{"Stop"}}, false, "no sign of readiness yet"},
		{"hook", bare, ScreenView{}, Seen{Hooks: []string{"Stop", "Start"}}, true, "the hook Start came"},
		{"title", bare, ScreenView{Title: "Ready."}, Seen{}, true, "the title matches ^ready"},
		{"screen", bare, ScreenView{Rows: []string{"hello", "> "}}, Seen{}, true, "the screen matches ^> $"},
		{"program", bare, ScreenView{}, Seen{Program: "idle"}, true, "OSC 7501 says idle"},
		{"file", bare, ScreenView{}, Seen{File: "done"}, true, "the status file says done"},
		{"composer", builtin(t, "claude"), composerScreen(), Seen{}, true, "the composer is empty"},
		{"a dialog is open", builtin(t, "claude"), permissionScreen(), Seen{Program: "idle"}, false, "a dialog is open: Do you want to proceed?"},
		{"no composer to be seen", builtin(t, "claude"), ScreenView{Rows: []string{"loading"}}, Seen{Program: "idle"}, false, "the composer is not on the screen"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, sign := tt.m.Ready(tt.view, tt.seen)
			if got != tt.want || sign != tt.sign {
				t.Errorf("Ready = %v, %q; want %v, %q", got, sign, tt.want, tt.sign)
			}
		})
	}
}

func TestMatchAnswer(t *testing.T) {
	m := builtin(t, "claude")
	permission := &api.Dialog{Kind: api.DialogPermission, Question: "Do you want to proceed?", Options: []api.Option{
		{Number: 1, Key: "1", Label: "Yes", Selected: true}, {Number: 2, Key: "2", Label: "Yes, and don't ask again"}, {Number: 3, Key: "3", Label: "No"},
	}}
	trust := &api.Dialog{Kind: api.DialogTrust, Options: []api.Option{{Number: 1, Label: "No, exit", Selected: true}, {Number: 2, Label: "Yes, I trust this folder"}}}
	question := &api.Dialog{Kind: api.DialogQuestion, Options: []api.Option{{Number: 1, Key: "1", Label: "Red"}, {Number: 2, Key: "2", Label: "Blue"}}}
	several := &api.Dialog{Kind: api.DialogQuestion, Multiple: true, Options: []api.Option{
		{Number: 1, Key: "1", Label: "Cart", Chosen: true}, {Number: 2, Key: "2", Label: "Orders"}, {Number: 3, Key: "3", Label: "Search"},
	}}
	allowDeny := &api.Dialog{Kind: api.DialogPermission, Options: []api.Option{{Number: 1, Key: "a", Label: "Allow"}, {Number: 2, Key: "d", Label: "Deny"}}}
	for _, tt := range []struct {
		name   string
		dialog *api.Dialog
		text   string
		insist bool
		want   string // the answer, or "refused"
	}{
		{"number", permission, "2", false, "2 [2] confirm"},
		{"number with blanks", permission, " 3\n", false, "3 [3] confirm"},
		{"number that is none", permission, "4", false, "refused"},
		{"label", permission, "yes, AND don't  ask again", false, "2 [2] confirm"},
		{"yes is a whole label", permission, "yes", false, "1 [1] confirm"},
		{"y fits two", permission, "y", false, "refused"},
		{"no fits one", permission, "n", false, "3 [3] confirm"},
		{"prose", permission, "please also add tests", false, "refused"},
		{"long prose that begins like an option", permission, "Yes, and then delete everything", false, "refused"},
		{"prose, insisting", permission, "please also add tests", true, `text "please also add tests"`},
		{"beginning of a label, insisting", permission, "yes, and", true, "2 [2] confirm"},
		{"nothing", permission, "  ", true, "refused"},
		{"no dialog", nil, "1", false, "refused"},
		{"trust", trust, "yes", false, "2 [down] confirm"},
		{"trust, by place", trust, "1", false, "1 [] confirm"},
		{"key", allowDeny, "D", false, "2 [d] confirm"},
		{"yes means nothing here", allowDeny, "yes", false, "refused"},
		{"question, by label", question, "blue", false, "2 [2] confirm"},
		{"question, with a text", question, "Green, as the grass", false, `text "Green, as the grass"`},
		{"several", several, "1, 3", false, "0 [3 tab]"},
		{"several, with blanks", several, "2 3", false, "0 [1 2 3 tab]"},
		{"several, by label", several, "search, cart", false, "0 [3 tab]"},
		{"several, and none of them", several, "all of it", false, "refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, ok := m.MatchAnswer(tt.dialog, tt.text, tt.insist)
			got := "refused"
			switch {
			case ok && a.Text != "":
				got = fmt.Sprintf("text %q", a.Text)
			case ok:
				got = fmt.Sprintf("%d %v", a.Option.Number, a.Keys)
				if a.Confirm {
					got += " confirm"
				}
			}
			if got != tt.want {
				t.Errorf("MatchAnswer = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestMatchAnswerMovesToTheOptionThatTakesText(t *testing.T) {
	d := &api.Dialog{Kind: api.DialogQuestion, Options: []api.Option{
		{Number: 1, Key: "1", Label: "Red", Selected: true}, {Number: 2, Key: "2", Label: "Blue"}, {Number: 3, Key: "3", Label: "None of the above"},
	}}
	a, ok := builtin(t, "codex").MatchAnswer(d, "green", false)
	if want := (Answer{Keys: []string{"down", "down"}, Text: "green"}); !ok || !cmp.Equal(a, want) {
		t.Errorf("MatchAnswer = %+v, %v; want %+v", a, ok, want)
	}
	a, ok = builtin(t, "codex").MatchAnswer(d, "blue", false)
	if want := (Answer{Option: d.Options[1], Keys: []string{"2"}, Confirm: true}); !ok || !cmp.Equal(a, want) {
		t.Errorf("MatchAnswer = %+v, %v; want %+v", a, ok, want)
	}
}

func TestMatchAnswerMovesUp(t *testing.T) {
	d := &api.Dialog{Kind: api.DialogTrust, Options: []api.Option{{Label: "a"}, {Label: "b"}, {Label: "c", Selected: true}}}
	a, ok := (*Manifest)(nil).MatchAnswer(d, "a", false)
	if !ok || strings.Join(a.Keys, " ") != "up up" {
		t.Errorf("MatchAnswer = %+v, %v", a, ok)
	}
}

func TestPrompt(t *testing.T) {
	m := builtin(t, "claude")
	long := strings.Repeat("word ", 400)
	for _, tt := range []struct {
		name   string
		dialog *api.Dialog
		view   ScreenView
		want   string // "" checks the bounds alone
	}{
		{
			"question and options", &api.Dialog{Question: "Proceed?", Detail: "rm -r build", Options: []api.Option{{Number: 1, Label: "Yes"}, {Number: 2, Label: "No"}}},
			ScreenView{},
			"rm -r build\nProceed?\n1. Yes\n2. No",
		},
		{"no dialog", nil, ScreenView{Rows: []string{"a", "", "  b  ", ""}}, "a\n  b"},
		{"nothing at all", nil, ScreenView{}, ""},
		{"a dialog that nothing is known of", &api.Dialog{Kind: api.DialogPermission}, ScreenView{Rows: []string{"Proceed? [y/N]"}}, "Proceed? [y/N]"},
		{"a long detail", &api.Dialog{Question: "Proceed?", Detail: strings.Repeat(long+"\n", 20), Options: []api.Option{{Number: 1, Label: "Yes"}}}, ScreenView{}, ""},
		{"a long question", &api.Dialog{Question: long, Detail: "x", Options: []api.Option{{Number: 1, Label: long}, {Number: 2, Label: "No"}}}, ScreenView{}, ""},
		{"many options", &api.Dialog{Question: "Which?", Options: make([]api.Option, 30)}, ScreenView{}, ""},
		{"a long screen", nil, ScreenView{Rows: []string{long, long, long, "$ "}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := m.Prompt(tt.view, tt.dialog)
			if tt.want != "" && got != tt.want {
				t.Errorf("Prompt = %q, want %q", got, tt.want)
			}
			if n := strings.Count(got, "\n") + 1; n > 12 {
				t.Errorf("%d lines:\n%s", n, got)
			}
			if n := utf8.RuneCountInString(got); n > 1200 {
				t.Errorf("%d characters", n)
			}
			if tt.dialog != nil && len(tt.dialog.Options) > 0 && !strings.Contains(got, "1. ") && tt.dialog.Options[0].Number > 0 {
				t.Errorf("the options were cut off:\n%s", got)
			}
		})
	}
}

// TestOptionsByColour reads OpenCode's dialogs as it draws them: only colours show which
// answer is chosen.
func TestOptionsByColour(t *testing.T) {
	m := builtin(t, "opencode")
	permission := []string{
		"  ┃  △ Permission required", "  ┃    # Shell command", "  ┃", "  ┃  $ touch granted.txt", "  ┃", "  ┃",
		"  ┃   Allow once   Allow always   Reject                   ctrl+f fullscreen  ⇆ select  enter confirm", "  ┃",
	}
	question := []string{
		"  ┃  Which colour?", "  ┃", "  ┃  1. Red", "  ┃     The warm one", "  ┃  2. Blue", "  ┃     The cold one",
		"  ┃  3. Type your own answer", "  ┃", "  ┃  ↑↓ select  enter submit  esc dismiss", "  ┃",
	}
	for _, tt := range []struct {
		name, marked, asks, detail, answer string
		rows                               []string
		options                            []string
		keys                               []string
		text                               string // of a question's free answer
	}{
		{"the first is marked", "Allow once", "Permission required", "# Shell command\n$ touch granted.txt", "Reject", permission, []string{"Allow once", "Allow always", "Reject"}, []string{"right", "right"}, ""},
		{"the last is marked", "Reject", "Permission required", "# Shell command\n$ touch granted.txt", "1", permission, []string{"Allow once", "Allow always", "Reject"}, []string{"left", "left"}, ""},
		{"what is marked needs no key", "Allow once", "Permission required", "# Shell command\n$ touch granted.txt", "allow once", permission, []string{"Allow once", "Allow always", "Reject"}, nil, ""},
		{"a question", "Red", "Which colour?", "", "blue", question, []string{"Red", "Blue", "Type your own answer"}, []string{"down"}, ""},
		{"in other words", "Red", "Which colour?", "", "green", question, []string{"Red", "Blue", "Type your own answer"}, []string{"down", "down"}, "green"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := ScreenView{Rows: tt.rows, CursorY: -1, Colours: func(x, y int) uint64 {
				at := []rune(tt.rows[y])[x:]
				if strings.HasPrefix(string(at), tt.marked) {
					return 1
				}
				return 0
			}}
			d, ok := m.FindDialog(v)
			if !ok || d.Question != tt.asks || d.Detail != tt.detail {
				t.Fatalf("dialog %+v, %v", d, ok)
			}
			var options []string
			for _, o := range d.Options {
				options = append(options, o.Label)
				if o.Selected != (o.Label == tt.marked) {
					t.Errorf("%s is selected: %v", o.Label, o.Selected)
				}
			}
			if diff := cmp.Diff(tt.options, options); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
			a, ok := m.MatchAnswer(d, tt.answer, false)
			if diff := cmp.Diff(tt.keys, a.Keys, cmpopts.EquateEmpty()); !ok || diff != "" || a.Text != tt.text {
				t.Errorf("answer %+v, %v; keys (-want +got):\n%s", a, ok, diff)
			}
			v.Colours = func(int, int) uint64 { return 0 }
			if d, ok := m.FindDialog(v); ok {
				t.Errorf("a dialog in which nothing is marked: %+v", d)
			}
		})
	}
}
