package demo

import "strings"

// replay shows what a resumed conversation holds.
func (a *agent) replay() {
	for _, l := range a.conv.old {
		if l.Message == nil || l.IsMeta {
			continue
		}
		if s, ok := l.Message.Content.(string); ok {
			if a.topic == "" {
				a.topic = shorten(clean(firstLine(strings.TrimSpace(topicOf(parseScript(s))))), 40)
			}
			a.sayUser(s)
			continue
		}
		blocks, _ := l.Message.Content.([]any)
		for _, b := range blocks {
			if m, ok := b.(map[string]any); ok {
				a.replayBlock(l.Type, m)
			}
		}
	}
	a.conv.old = nil
}

func (a *agent) replayBlock(who string, m map[string]any) {
	text := func(key string) string { s, _ := m[key].(string); return s }
	switch text("type") {
	case "text":
		if who == "user" {
			a.sayUnder(strings.Trim(text("text"), "[]"))
		} else {
			a.sayText(text("text"))
		}
	case "tool_use":
		in, _ := m["input"].(map[string]any)
		what := ""
		for _, key := range []string{"command", "file_path", "input"} {
			if s, ok := in[key].(string); ok {
				what = s
			}
		}
		a.sayText(text("name") + "(" + firstLine(what) + ")")
	case "tool_result":
		a.sayUnder(text("content"))
	}
}
