package agent

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"termio/internal/api"
)

// order is the channels by authority, as explanations list them.
var order = []Channel{
	ChannelProcess, ChannelHook, ChannelProgram, ChannelFile, ChannelDialog, ChannelTitle,
	ChannelTranscript, ChannelComposer, ChannelProgress, ChannelScreen, ChannelActivity,
}

// Explain gives every channel's last word with what won, and why.
func (mc *Machine) Explain() (list []api.EvidenceInfo, why string) {
	for _, ch := range order {
		w := mc.s.Words[ch]
		if w == nil {
			continue
		}
		list = append(list, api.EvidenceInfo{
			Channel: string(ch), Status: w.Status, At: w.At.UnixMilli(), Rule: w.Rule, Text: w.Text,
			Won: ch == mc.s.Won, Note: cmp.Or(mc.notes[ch], mc.discounted(ch)),
		})
	}
	return list, mc.s.Why
}

// Description says in a few words what the session is doing and for how long. It is
// never empty.
func (mc *Machine) Description(now time.Time) string {
	s := &mc.s
	age := Age(now.Sub(s.Since))
	var text string
	switch s.Status {
	case api.Working:
		text = "working " + Age(now.Sub(later(s.Since, s.TurnAt)))
		if tool := mc.Tool(); tool != "" {
			text += ": " + tool
		} else if w := s.Words[ChannelProgram]; w != nil && w.Status == api.Working && w.Text != "" && s.Won == ChannelProgram {
			text += ": " + w.Text
		}
	case api.NeedsYou:
		text = "needs you for " + age
		if reason := mc.asks(); reason != "" {
			text = "needs you: " + reason
		}
	case api.Done:
		text = "done " + age + " ago"
		if reason := mc.failure(); reason != "" {
			text = "failed " + age + " ago: " + reason
		}
	default:
		text = "idle for " + age
	}
	if n := s.background(); n > 0 {
		text += fmt.Sprintf(", %d in the background", n)
	}
	return text
}

// later is the working turn's own beginning: a dialog in between does not restart it.
func later(since, turn time.Time) time.Time {
	if turn.IsZero() {
		return since
	}
	return turn
}

// asks is what the person is asked, in one line.
func (mc *Machine) asks() string {
	if d := mc.s.Dialog; d != nil {
		text := d.Question
		if detail, _, _ := strings.Cut(d.Detail, "\n"); d.Kind == api.DialogPermission && detail != "" {
			text += " (" + detail + ")"
		}
		return clean(text, maxLabel)
	}
	if w := mc.s.Words[mc.s.Won]; w != nil {
		return w.Text
	}
	return ""
}

// failure is the error that ended the last turn.
func (mc *Machine) failure() string {
	for _, ch := range []Channel{ChannelProgram, ChannelHook} {
		if w := mc.s.Words[ch]; w != nil && w.Failed && w.Status == api.Done && !w.At.Before(mc.s.TurnAt) {
			return clean(w.Text, maxLabel)
		}
	}
	return ""
}

// Age tells a duration as people do: its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(int(d/time.Second), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
}
