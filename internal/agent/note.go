package agent

import (
	"fmt"
	"strings"
)

// Note puts the provenance note before a prompt that was spawned from inside a
// session: who spawned it, and the one way back that is allowed. caller is the link
// of the spawning session. The note is plain text, so that any agent understands it.
func Note(caller, prompt string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[termio: this session was started by %s. ", caller)
	b.WriteString("Work on your own. You may send the session that started you one line when you are finished, " +
		"or one question if you can't go on without an answer:\n")
	fmt.Fprintf(&b, "  termio sessions send %s \"…\"\n", caller)
	b.WriteString("Nothing more: no conversation, and don't hand the task back or start sessions for it there.]\n\n")
	b.WriteString(prompt)
	return b.String()
}
