package agent

import (
	"strconv"
	"strings"

	"termio/internal/api"
)

// An Answer says how to give an answer to an open dialog.
type Answer struct {
	Option api.Option // the chosen option; its Label is "" when the text itself is typed
	Keys   []string   // keys to press, in order, as `send --key` spells them
	// Confirm asks for a Return after Keys, only if the same dialog is still open with
	// Option selected: where a digit chooses at once, a Return would answer the next one.
	Confirm bool
	// Text is typed after Keys and sent with a Return.
	Text string
}

// MatchAnswer reads text as an answer to dialog. To a permission, a trust or a login
// only an option's number, key or whole label is one, or a yes or no that fits exactly
// one option; ok is false for anything else, however long. A question takes any text.
// insist, the person's --answer, also takes the beginning of a label, and any text
// where no option fits.
func (m *Manifest) MatchAnswer(dialog *api.Dialog, text string, insist bool) (a Answer, ok bool) {
	word := fold(text)
	if dialog == nil || word == "" {
		return Answer{}, false
	}
	i := exactOption(dialog.Options, word)
	if i < 0 {
		i = yesNoOption(dialog.Options, word)
	}
	if i < 0 && insist {
		i = onlyOption(dialog.Options, func(label string) bool { return strings.HasPrefix(label, word) })
	}
	if i >= 0 {
		return m.choose(dialog, i), true
	}
	switch {
	case dialog.Kind == api.DialogQuestion:
		return m.freeText(dialog, text), true
	case insist:
		return Answer{Text: text}, true
	}
	return Answer{}, false
}

// fold is how answers and labels are compared: case, blanks and a last full stop do
// not matter.
func fold(s string) string {
	return strings.TrimSuffix(strings.ToLower(strings.Join(strings.Fields(s), " ")), ".")
}

func exactOption(options []api.Option, word string) int {
	for i, o := range options {
		if o.Number > 0 && word == strconv.Itoa(o.Number) || o.Key != "" && word == strings.ToLower(o.Key) {
			return i
		}
	}
	return onlyOption(options, func(label string) bool { return label == word })
}

func yesNoOption(options []api.Option, word string) int {
	switch word {
	case "y", "yes":
		word = "yes"
	case "n", "no":
		word = "no"
	default:
		return -1
	}
	return onlyOption(options, func(label string) bool {
		rest, ok := strings.CutPrefix(label, word)
		return ok && (rest == "" || strings.ContainsAny(rest[:1], " ,;:.-"))
	})
}

// onlyOption is the one option whose label fits, -1 if none or several do.
func onlyOption(options []api.Option, fits func(label string) bool) int {
	found := -1
	for i, o := range options {
		if fits(fold(o.Label)) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// choose gives the keys that choose option i.
func (m *Manifest) choose(dialog *api.Dialog, i int) Answer {
	o := dialog.Options[i]
	if o.Key != "" {
		return Answer{Option: o, Keys: []string{o.Key}, Confirm: true}
	}
	a := Answer{Option: o, Confirm: true}
	at := 0
	for j, other := range dialog.Options {
		if other.Selected {
			at = j
		}
	}
	key := "down"
	if i < at {
		key, i, at = "up", at, i
	}
	for range i - at {
		a.Keys = append(a.Keys, key)
	}
	return a
}

// freeText answers a question with a text of its own: through the option that takes
// one, where the agent has such an option.
func (m *Manifest) freeText(dialog *api.Dialog, text string) Answer {
	a := Answer{Text: text}
	if m == nil {
		return a
	}
	for _, rule := range m.Dialogs {
		if rule.Kind != dialog.Kind || !rule.Text.set() {
			continue
		}
		for i, o := range dialog.Options {
			if rule.Text.Match(o.Label) {
				a.Option, a.Keys = o, m.choose(dialog, i).Keys
				return a
			}
		}
	}
	return a
}
