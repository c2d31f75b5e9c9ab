package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"termio/internal/api"
	"termio/internal/quick"
)

// printList prints a table with the full link in every row.
func (a *App) printList(v api.ListReply, all bool) {
	w := a.out()
	_, _ = io.WriteString(w, quick.ListTop(v.Project, all, len(v.Sessions)))
	if len(v.Sessions) == 0 {
		return
	}
	head := quick.ListHead(all)
	rows := make([][]string, len(v.Sessions))
	for i, s := range v.Sessions {
		rows[i] = listed(s).Row(all)
	}
	limit := width(a.Out)
	if room := layOut(limit, head, rows).room; room > 0 {
		for i, s := range v.Sessions {
			rows[i][len(head)-1] = doing(s, room)
		}
	}
	colour := a.colours(a.Out)
	status := len(head) - 2
	table(w, limit, head, rows, func(row, col int, cell string) string {
		if row >= 0 && col == status {
			return paint(colour, v.Sessions[row].Status, cell)
		}
		return cell
	})
}

// listed is what a list prints of a session.
func listed(s api.SessionInfo) quick.Session {
	return quick.Session{
		Project: s.Project, Link: s.Link, Agent: s.Agent, Wire: s.Wire, Status: string(s.Status),
		Title: s.Title, Description: s.Description, Reason: s.Reason,
	}
}

// doing is a session's title and what it is doing, in so many cells; 0 is no bound. Of
// a long title enough is left out that the rest stays.
func doing(s api.SessionInfo, room int) string {
	title, rest := listed(s).Doing()
	if room > 0 {
		title = cutCells(title, max(room-cells(quick.Dash)-cells(rest), room/3, 1))
	}
	return title + quick.Dash + rest
}

// count is a number of things in words.
func count(n int, thing string) string { return quick.Count(n, thing) }

// printStart prints the link alone on standard output, ready for $(…).
func (a *App) printStart(v api.StartReply, payload string) {
	if a.json {
		a.printJSON(v)
		return
	}
	fmt.Fprintln(a.out(), v.Target)
	switch {
	case v.Fresh:
		fmt.Fprintf(a.Err, "%s: started %q afresh\n", whyFresh(v.Missing), clean(v.Title))
	case v.Resumed:
		fmt.Fprintf(a.Err, "resumed %q\n", clean(v.Title))
	case v.Queued && payload != "":
		fmt.Fprintf(a.Err, "started %q; the %s goes in when it is ready\n", clean(v.Title), payload)
	default:
		fmt.Fprintf(a.Err, "started %q\n", clean(v.Title))
	}
}

// whyFresh says why a session that was to go on with a conversation began a new one.
func whyFresh(missing string) string {
	if missing == "" {
		return "nothing to resume"
	}
	return fmt.Sprintf("the agent has no record of conversation %s, which is kept as an earlier one", clean(missing))
}

// deliveryText says how far a text got.
var deliveryText = map[api.Delivery]string{
	api.Submitted: "sent to %s\n",
	api.Queued:    "queued in %s behind the running turn\n",
	api.Typed:     "typed into %s; nothing there tells whether it was taken\n",
}

func (a *App) printSend(v api.SendReply) {
	a.print(v, func(w io.Writer) {
		format, ok := deliveryText[v.Delivery]
		if !ok {
			format = deliveryText[api.Submitted]
		}
		fmt.Fprintf(w, format, v.Target)
		if v.Transcript != "" {
			fmt.Fprintf(w, "  transcript: %s\n", clean(v.Transcript))
			if v.Cursor != nil {
				fmt.Fprintf(w, "  the reply starts after line %d\n", *v.Cursor)
			}
		}
	})
}

// finishWait prints a turn's outcome and turns one that timed out into its exit.
func (a *App) finishWait(v api.WaitReply, w io.Writer) error {
	if a.json {
		a.printJSON(v)
	} else {
		printOutcome(w, v)
	}
	if v.TimedOut {
		return ErrTimedOut
	}
	return nil
}

func printOutcome(w io.Writer, v api.WaitReply) {
	switch {
	case v.TimedOut:
		fmt.Fprintf(w, "%s is still %s: the wait timed out, the session goes on\n", v.Target, v.Status)
	case v.Status == api.NeedsYou:
		fmt.Fprintf(w, "%s is waiting for you\n", v.Target)
	case v.ExitCode != nil:
		fmt.Fprintf(w, "%s finished (%s, exit code %d)\n", v.Target, v.Status, *v.ExitCode)
	default:
		fmt.Fprintf(w, "%s finished (%s)\n", v.Target, v.Status)
	}
	if v.Fresh {
		fmt.Fprintf(w, "  a fresh start: %s\n", whyFresh(v.Missing))
	}
	if v.Background > 0 {
		fmt.Fprintf(w, "  in the background: %s\n", count(v.Background, "task"))
	}
	if v.Transcript != "" {
		fmt.Fprintf(w, "  transcript: %s\n", clean(v.Transcript))
		if v.Cursor != nil && v.CursorEnd != nil && *v.CursorEnd > *v.Cursor {
			fmt.Fprintf(w, "  reply: lines %d–%d\n", *v.Cursor+1, *v.CursorEnd)
		}
	}
	if v.Prompt != "" {
		fmt.Fprintf(w, "  it asks:\n%s\n", indent(indent(cleanBlock(v.Prompt))))
	}
}

func (a *App) printRead(v api.ReadReply) {
	a.print(v, func(w io.Writer) {
		if v.Screen == "" {
			fmt.Fprint(a.Err, quick.Blank)
			return
		}
		fmt.Fprintln(w, cleanBlock(v.Screen))
	})
}

func (a *App) printClose(v api.CloseReply) {
	a.print(v, func(w io.Writer) { fmt.Fprintf(w, "closed %s (%s)\n", v.Closed, clean(v.Title)) })
}

func (a *App) printFocus(v api.FocusReply) {
	a.print(v, func(w io.Writer) { fmt.Fprintln(w, "focused", v.Focused) })
}

// printExplain prints the status, then each channel's last word with a mark at
// the one that counts.
func (a *App) printExplain(v api.ExplainReply, now time.Time) {
	a.print(v, func(w io.Writer) {
		fmt.Fprintf(w, "%s\n%s, %s: %s %s\n", v.Target, clean(v.Title), clean(v.Agent), v.Status, lasting(v.Since, now))
		fmt.Fprintf(w, "why: %s\n", clean(v.Why))
		if v.Dialog != nil {
			printDialog(w, v.Dialog)
		}
		if v.Background > 0 {
			fmt.Fprintf(w, "in the background: %s\n", count(v.Background, "task"))
		}
		if v.Conversation != "" {
			fmt.Fprintf(w, "conversation: %s\n", clean(v.Conversation))
		}
		if v.Transcript != "" {
			fmt.Fprintf(w, "transcript: %s\n", clean(v.Transcript))
		}
		if len(v.Evidence) == 0 {
			return
		}
		rows := make([][]string, len(v.Evidence))
		for i, e := range v.Evidence {
			rows[i] = evidenceRow(e, now)
		}
		table(w, 0, []string{"", "CHANNEL", "SAYS", "AGO", "RULE"}, rows, func(_, _ int, cell string) string { return cell })
	})
}

// printDialog prints what a session asks: the kind and the question, what it is about,
// and the options, with a mark at the one that the live cursor is on.
func printDialog(w io.Writer, d *api.Dialog) {
	fmt.Fprintf(w, "asks (%s): %s\n", d.Kind, clean(d.Question))
	for line := range strings.Lines(d.Detail) {
		fmt.Fprintf(w, "    | %s\n", clean(line))
	}
	for _, o := range d.Options {
		mark, box := " ", ""
		if o.Selected {
			mark = ">"
		}
		switch {
		case o.Chosen:
			box = "[x] "
		case d.Multiple:
			box = "[ ] "
		}
		fmt.Fprintf(w, "  %s %d. %s%s\n", mark, o.Number, box, clean(o.Label))
	}
}

func evidenceRow(e api.EvidenceInfo, now time.Time) []string {
	mark, says, rule := "", string(e.Status), clean(e.Rule)
	if e.Won {
		mark = "*"
	}
	if says == "" {
		says = "-"
	}
	if e.Text != "" {
		rule += fmt.Sprintf(" %q", clean(e.Text))
	}
	if e.Note != "" {
		rule += " (" + clean(e.Note) + ")"
	}
	return []string{mark, clean(e.Channel), says, age(e.At, now), rule}
}
