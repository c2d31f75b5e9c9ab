package agent

import (
	"slices"
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
	// Text is pasted, after Keys if there are any, and sent with a Return.
	Text string
}

// MatchAnswer reads text as an answer to dialog. To a permission, a trust or a login
// only an option's number, key or whole label is one, or a yes or no that fits exactly
// one option; ok is false for anything else, however long. A question takes any text,
// unless several options can be ticked: then it takes a list of them. insist, the
// person's --answer, also takes the beginning of a label, and any text where no option
// fits.
func (m *Manifest) MatchAnswer(dialog *api.Dialog, text string, insist bool) (a Answer, ok bool) {
	word := fold(text)
	if dialog == nil || word == "" {
		return Answer{}, false
	}
	if dialog.Multiple {
		return m.tick(dialog, word)
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
	if dialog.Kind == api.DialogQuestion || insist {
		return Answer{Text: text, Keys: m.textKeys(dialog)}, true
	}
	return Answer{}, false
}

// tick reads a list of options, by number or label, and gives the keys that make
// exactly those ticked and go on.
func (m *Manifest) tick(dialog *api.Dialog, word string) (Answer, bool) {
	wanted := make([]bool, len(dialog.Options))
	parts := strings.FieldsFunc(word, func(r rune) bool { return r == ',' || r == ';' })
	if len(parts) == 1 && exactOption(dialog.Options, word) < 0 {
		parts = strings.Fields(word) // 1 3
	}
	for _, p := range parts {
		i := exactOption(dialog.Options, strings.TrimSpace(p))
		if i < 0 {
			return Answer{}, false
		}
		wanted[i] = true
	}
	var a Answer
	for i, o := range dialog.Options {
		if wanted[i] == o.Chosen {
			continue
		}
		if o.Key == "" {
			return Answer{}, false
		}
		a.Keys = append(a.Keys, o.Key)
	}
	if next := m.next(dialog); next != "" {
		a.Keys = append(a.Keys, next)
	}
	return a, true
}

// textKeys are the keys that move the mark to the option that takes a text.
func (m *Manifest) textKeys(dialog *api.Dialog) []string {
	if m == nil {
		return nil
	}
	for _, r := range m.Dialogs {
		if r.Kind != dialog.Kind || !r.Text.set() {
			continue
		}
		if i := slices.IndexFunc(dialog.Options, func(o api.Option) bool { return r.Text.Match(o.Label) }); i >= 0 {
			return r.moves(dialog, i)
		}
	}
	return nil
}

// next is the key that leaves a dialog of several choices.
func (m *Manifest) next(dialog *api.Dialog) string {
	if m == nil {
		return ""
	}
	for _, r := range m.Dialogs {
		if r.Kind == dialog.Kind && r.Next != "" {
			return r.Next
		}
	}
	return ""
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
	a := Answer{Option: o, Confirm: true}
	if o.Key != "" {
		a.Keys = []string{o.Key}
		return a
	}
	a.Keys = m.ruleOf(dialog).moves(dialog, i)
	return a
}

// ruleOf is the rule that a dialog is of, as far as its options tell; nil is any other.
func (m *Manifest) ruleOf(dialog *api.Dialog) *DialogRule {
	if m == nil {
		return nil
	}
	for i := range m.Dialogs {
		r := &m.Dialogs[i]
		foreign := func(o api.Option) bool { return !r.Beside.Match(o.Label) }
		if r.Kind == dialog.Kind && r.Beside.set() && !slices.ContainsFunc(dialog.Options, foreign) {
			return r
		}
	}
	return nil
}

// moves are the keys that move the mark from where it is to option i.
func (r *DialogRule) moves(dialog *api.Dialog, i int) []string {
	at := max(slices.IndexFunc(dialog.Options, func(o api.Option) bool { return o.Selected }), 0)
	key, back := "down", "up"
	if r != nil && r.Beside.set() {
		key, back = "right", "left"
	}
	if i < at {
		key, i, at = back, at, i
	}
	return slices.Repeat([]string{key}, i-at)
}
