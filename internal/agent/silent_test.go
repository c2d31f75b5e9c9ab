package agent

import (
	"time"

	"termio/internal/api"
)

// composerPart is a manifest's composer whose surroundings show that a turn runs.
const composerPart = `"composer":{"prompt":"^> ?(?P<draft>.*)$","working":["^\\* "]}`

// The screens of an agent with composerPart and dialogsPart, the cursor where it is.
var (
	busyScreen   = ScreenView{Rows: []string{"text", "* Thinking", "> "}, CursorX: 2, CursorY: 2}
	restScreen   = ScreenView{Rows: []string{"text", "", "> "}, CursorX: 2, CursorY: 2}
	askScreen    = ScreenView{Rows: []string{"text", "Do it?", "❯ 1. Yes", "  2. No", "esc to cancel"}, CursorY: 2}
	viewerScreen = ScreenView{Rows: []string{"text", "> an old prompt", "", "q to leave"}, CursorY: 3}
)

// composerOf is what the composer's surroundings say in a view.
func composerOf(v ScreenView) func(*Manifest, time.Time) (Evidence, bool) {
	return screenChannel(v, ChannelComposer)
}

// dialogOf is what the rules of dialogs say of a view.
func dialogOf(v ScreenView) func(*Manifest, time.Time) (Evidence, bool) {
	return screenChannel(v, ChannelDialog)
}

func screenChannel(v ScreenView, ch Channel) func(*Manifest, time.Time) (Evidence, bool) {
	return func(m *Manifest, at time.Time) (Evidence, bool) {
		for _, ev := range m.ScreenEvidence(v, at) {
			if ev.Channel == ch {
				return ev, true
			}
		}
		return Evidence{}, false
	}
}

// silentStories are of agents whose hooks do not tell what happens: an interruption, a
// refusal, the turn of a queued prompt.
var silentStories = []tale{
	{
		name: "interrupted, and only the screen shows it", manifest: head + composerPart + `,` + hooksPart + `}`, turns: 2,
		steps: []seen{
			{0.5, composerOf(restScreen), api.Idle, 0},
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, composerOf(busyScreen), api.Working, 0},
			{4, composerOf(busyScreen), api.Working, 0},
			{5, composerOf(restScreen), api.Working, 0},
			{5.9, nil, api.Working, 0},
			{6, nil, api.Idle, 0},
			{7, composerOf(restScreen), api.Idle, 0}, // the hook's word is as old as before
			{60, composerOf(restScreen), api.Idle, 0},
			{61, hookOf("Prompt", ``), api.Working, 0},
			{61.1, composerOf(busyScreen), api.Working, 0},
			{62, hookOf("End", ``), api.Done, 0},
			{62.1, composerOf(restScreen), api.Done, 0},
		},
	},
	{
		name: "a turn begun at the launch, before the status file tells of any", manifest: head + composerPart + `,
			"programStatus":true,"statusFile":{"path":"~/{pid}","state":"s","values":{"idle":"idle","busy":"working"}}}`, turns: 1,
		steps: []seen{
			{0.5, composerOf(busyScreen), api.Working, 0},
			{0.6, fileOf(`{"s":"idle"}`), api.Working, 0}, // as it is at every start
			{0.7, composerOf(restScreen), api.Working, 0}, // a drawing without the mark
			{0.8, composerOf(busyScreen), api.Working, 0},
			{0.85, programOf("state=idle"), api.Working, 0},
			{0.9, fileOf(`{"s":"busy"}`), api.Working, 0},
			{1, programOf("state=working"), api.Working, 0},
			{4, programOf("state=done"), api.Done, 0},
			{4.1, composerOf(restScreen), api.Done, 0},
		},
	},
	{
		name: "interrupted a moment after a hook", manifest: head + composerPart + `,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, composerOf(busyScreen), api.Working, 0},
			{1.4, hookOf("Tool", ``), api.Working, 0},
			{1.5, composerOf(restScreen), api.Working, 0},
			{3.4, nil, api.Idle, 0}, // within 2 s: another hook would have been there
		},
	},
	{
		name: "denied, and only the screen shows it", manifest: head + composerPart + `,` + dialogsPart + `,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, composerOf(busyScreen), api.Working, 0},
			{2, hookOf("Ask", ``), api.NeedsYou, 0},
			{2.1, dialogOf(askScreen), api.NeedsYou, 0},
			{9, dialogOf(restScreen), api.Working, 0},
			{9, composerOf(restScreen), api.Working, 0},
			{10, nil, api.Idle, 0},
			{11, dialogOf(restScreen), api.Idle, 0},
			{11, composerOf(restScreen), api.Idle, 0},
			{60, composerOf(restScreen), api.Idle, 0},
		},
	},
	{
		name: "denied in a turn whose mark nobody saw", manifest: head + composerPart + `,` + dialogsPart + `,` + hooksPart + `}`, turns: 2,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, composerOf(busyScreen), api.Working, 0},
			{2, composerOf(restScreen), api.Working, 0},
			{2, hookOf("End", ``), api.Done, 0},
			{3, hookOf("Prompt", ``), api.Working, 0},
			{3.1, hookOf("Ask", ``), api.NeedsYou, 0},
			{3.2, dialogOf(askScreen), api.NeedsYou, 0},
			{9, dialogOf(restScreen), api.Working, 0},
			{9, composerOf(restScreen), api.Working, 0},
			{10, nil, api.Idle, 0},
		},
	},
	{
		name: "the dialog of a hook was none that the rules know", manifest: head + composerPart + `,` + dialogsPart + `,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, composerOf(busyScreen), api.Working, 0},
			{2, hookOf("Ask", ``), api.NeedsYou, 0},
			{2.1, composerOf(busyScreen), api.NeedsYou, 0}, // it has not been drawn yet
			{9, composerOf(busyScreen), api.Working, 0},
			{9.5, hookOf("End", ``), api.Done, 0},
		},
	},
	{
		name: "the mark is missing in one drawing", manifest: head + composerPart + `,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, composerOf(busyScreen), api.Working, 0},
			{5, composerOf(restScreen), api.Working, 0},
			{5.9, composerOf(busyScreen), api.Working, 0},
			{60, nil, api.Working, 0},
		},
	},
	{
		name: "a mark that nobody knows", manifest: head + composerPart + `,` + hooksPart + `}`, turns: 2,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, composerOf(restScreen), api.Working, 0},
			{2, hookOf("End", ``), api.Done, 0},
			{3, hookOf("Prompt", ``), api.Working, 0},
			{3.1, composerOf(restScreen), api.Working, 0},
			{600, composerOf(restScreen), api.Working, 0},
			{601, hookOf("End", ``), api.Done, 0},
		},
	},
	{
		name: "a turn that is slow to begin", manifest: head + composerPart + `,` + hooksPart + `}`, turns: 2,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, composerOf(busyScreen), api.Working, 0},
			{2, hookOf("End", ``), api.Done, 0},
			{2.1, composerOf(restScreen), api.Done, 0},
			{3, hookOf("Prompt", ``), api.Working, 0},
			{3.1, composerOf(restScreen), api.Working, 0}, // another hook holds it up
			{20, nil, api.Working, 0},
			{21, composerOf(busyScreen), api.Working, 0},
			{22, hookOf("End", ``), api.Done, 0},
		},
	},
	{
		name: "a view that covers the composer", manifest: head + composerPart + `,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, composerOf(busyScreen), api.Working, 0},
			{2, composerOf(viewerScreen), api.Working, 0},
			{60, composerOf(viewerScreen), api.Working, 0},
			{61, composerOf(restScreen), api.Working, 0},
			{62, nil, api.Idle, 0},
		},
	},
	{
		name: "done, and the mark lags behind", manifest: head + composerPart + `,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, composerOf(busyScreen), api.Working, 0},
			{2, hookOf("End", ``), api.Done, 0},
			{2.1, composerOf(busyScreen), api.Done, 0},
			{2.2, composerOf(restScreen), api.Done, 0},
			{60, nil, api.Done, 0},
		},
	},
	{
		name: "the turn of queued prompts that no hook tells of", manifest: head + composerPart + `,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, hookOf("Prompt", ``), api.Working, 0},
			{1.1, composerOf(busyScreen), api.Working, 0},
			{2, hookOf("Prompt", ``), api.Working, 0},
			{2.5, hookOf("Prompt", ``), api.Working, 0},
			{3, hookOf("End", ``), api.Working, 0},
			{3.05, composerOf(restScreen), api.Working, 0},
			{3.1, composerOf(busyScreen), api.Working, 0}, // both run as one
			{30, composerOf(busyScreen), api.Working, 0},
			{31, hookOf("End", ``), api.Working, 0},
			{31.1, composerOf(restScreen), api.Working, 0},
			{32.1, nil, api.Done, 0},
		},
	},
	{
		name: "a composer that is all there is", manifest: head + composerPart + `}`, turns: 2,
		steps: []seen{
			{0.5, composerOf(restScreen), api.Idle, 0},
			{1, composerOf(busyScreen), api.Working, 0},
			{2, composerOf(restScreen), api.Working, 0}, // one drawing may lack the mark
			{3, nil, api.Done, 0},
			{4, composerOf(busyScreen), api.Working, 0},
			{5, composerOf(restScreen), api.Working, 0},
			{6, nil, api.Done, 0},
		},
	},
	{
		name: "OSC 7501 knows better than the composer", manifest: head + `"programStatus":true,` + composerPart + `,` + hooksPart + `}`, turns: 1,
		steps: []seen{
			{1, programOf("state=working"), api.Working, 0},
			{1.1, hookOf("Prompt", ``), api.Working, 0},
			{1.2, composerOf(busyScreen), api.Working, 0},
			{2, composerOf(restScreen), api.Working, 0},
			{60, composerOf(restScreen), api.Working, 0},
			{61, programOf("state=done"), api.Done, 0},
		},
	},
}
