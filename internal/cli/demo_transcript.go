package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"termio/internal/api"
)

// transcript shows a reply where it stands: in the lines after Cursor, up to
// CursorEnd.
func (f *fleet) transcript(r api.WaitReply) error {
	if r.Transcript == "" || r.Cursor == nil || r.CursorEnd == nil || *r.CursorEnd == *r.Cursor {
		return nil
	}
	from, to := *r.Cursor+1, *r.CursorEnd
	f.shell("sed -n '%d,%dp' %s", from, to, r.Transcript)
	file, err := os.Open(r.Transcript)
	if err != nil {
		return fmt.Errorf("read the reply: %w", err)
	}
	defer func() { _ = file.Close() }()
	const longest = 16 << 20
	sc := bufio.NewScanner(file)
	sc.Buffer(nil, longest)
	for n := int64(1); n <= to && sc.Scan(); n++ {
		if n < from {
			continue
		}
		who, text := transcriptLine(sc.Bytes())
		f.line("  %4d  %-9s  %s", n, who, cutCells(clean(text), transcriptCells))
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("read the reply: %w", err)
	}
	return nil
}

// transcriptCells is what is left of 80 cells beside number and role.
const transcriptCells = 60

// transcriptLine is the role and the text of a line in a transcript of the demo agent.
func transcriptLine(data []byte) (who, text string) {
	var l struct {
		Type    string
		Subtype string
		Message struct{ Content json.RawMessage }
	}
	if json.Unmarshal(data, &l) != nil {
		return "?", string(data)
	}
	if json.Unmarshal(l.Message.Content, &text) == nil {
		return l.Type, text
	}
	var blocks []struct{ Type, Text, Name, Content string }
	if json.Unmarshal(l.Message.Content, &blocks) != nil {
		return l.Type, l.Subtype
	}
	var parts []string
	for _, b := range blocks {
		switch b.Type {
		case "text":
			parts = append(parts, b.Text)
		case "tool_use":
			parts = append(parts, "uses "+b.Name)
		case "tool_result":
			parts = append(parts, b.Content)
		}
	}
	return l.Type, strings.Join(parts, " ")
}
