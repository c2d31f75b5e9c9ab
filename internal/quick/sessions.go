package quick

import (
	"os"
	"strconv"
)

// drawn reports whether an answer would be laid out for a terminal: in colours, and in
// lines that fit. A device of another kind is none, but rare enough.
func (p Process) drawn() bool {
	fi, err := p.Out.Stat()
	return err != nil || fi.Mode()&os.ModeCharDevice != 0
}

// list is `sessions list`.
func (p Process) list(args []string) (code int, done bool) {
	var asJSON, all, closed bool
	for _, arg := range args {
		switch arg {
		case "--json":
			asJSON = true
		case "--all":
			all = true
		case "--closed":
			closed = true
		default:
			return 0, false
		}
	}
	if !asJSON && p.drawn() {
		return 0, false
	}
	body, ok := p.get(withQuery(routeList, on("all", all), on("closed", closed)))
	if !ok {
		return 0, false
	}
	answer, ok := body, isReply(body)
	if !asJSON {
		answer, ok = listText(body, all)
	}
	if !ok {
		return 0, false
	}
	return p.answer(answer), true
}

// read is `sessions read`.
func (p Process) read(args []string) (code int, done bool) {
	var (
		asJSON, scrollback bool
		target, lines      string
	)
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--json":
			asJSON = true
		case arg == "--scrollback":
			scrollback = true
		case arg == "--lines" && i+1 < len(args):
			i++
			lines = args[i]
		case arg == "" || arg[0] == '-' || target != "":
			return 0, false
		default:
			target = arg
		}
	}
	if target == "" || lines != "" && !isCount(lines) {
		return 0, false
	}
	before, after := cut(routeRead, "{target}")
	route := string(appendEscaped([]byte(before), target)) + after
	body, ok := p.get(withQuery(route, pair("lines", lines), on("scrollback", scrollback)))
	if !ok {
		return 0, false
	}
	if asJSON {
		if !isReply(body) {
			return 0, false
		}
		return p.answer(body), true
	}
	screen, ok := screenText(body)
	switch {
	case !ok:
		return 0, false
	case screen == "":
		_, _ = p.Err.WriteString(Blank)
		return 0, true
	}
	return p.answer([]byte(CleanBlock(screen) + "\n")), true
}

// Blank is what is said of a screen that has nothing on it.
const Blank = "the screen is blank\n"

// isCount reports whether a number is 1 or more, spelled as everybody does.
func isCount(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n > 0 && strconv.Itoa(n) == s
}

// withQuery adds the parameters that are there to a route.
func withQuery(route string, params ...string) string {
	sep := "?"
	for _, p := range params {
		if p != "" {
			route += sep + p
			sep = "&"
		}
	}
	return route
}

// on is a parameter that is 1 when set.
func on(name string, is bool) string {
	if !is {
		return ""
	}
	return name + "=1"
}

// pair is a parameter with a value, unless that is empty.
func pair(name, value string) string {
	if value == "" {
		return ""
	}
	return name + "=" + value
}

// cut parts s around sep, which stands in it.
func cut(s, sep string) (before, after string) {
	i := 0
	for s[i:i+len(sep)] != sep {
		i++
	}
	return s[:i], s[i+len(sep):]
}

// isReply reports whether a body is a reply that says "ok", on one line.
func isReply(body []byte) bool {
	for i, c := range body {
		if c == '\n' && i != len(body)-1 {
			return false
		}
	}
	_, ok := reply(body, func(*decoder, string) bool { return false })
	return ok && body[len(body)-1] == '\n'
}

// reply reads a reply's members beside "ok", which must be true.
func reply(body []byte, member func(d *decoder, name string) bool) (*decoder, bool) {
	d, ok := &decoder{b: body}, false
	d.object(func(name string) bool {
		if name != "ok" {
			return member(d, name)
		}
		d.word("true")
		ok = true
		return true
	})
	return d, d.end() && ok
}

// listText is the text of a list.
func listText(body []byte, all bool) ([]byte, bool) {
	var (
		project  string
		sessions []Session
	)
	_, ok := reply(body, func(d *decoder, name string) bool {
		switch name {
		case "project":
			project = d.text()
		case "sessions":
			d.list('[', ']', func() { sessions = append(sessions, d.session()) })
		default:
			return false
		}
		return true
	})
	if !ok {
		return nil, false
	}
	b := append(make([]byte, 0, 256+256*len(sessions)), ListTop(project, all, len(sessions))...)
	if len(sessions) == 0 {
		return b, true
	}
	rows := make([][]string, len(sessions))
	for i, s := range sessions {
		rows[i] = s.Row(all)
		for _, cell := range rows[i][:len(rows[i])-1] {
			if !ascii(cell) { // how wide it is takes a table to tell
				return nil, false
			}
		}
	}
	return AppendTable(b, ListHead(all), rows, func(s string) int { return len(s) }, func(_, _ int, cell string) string { return cell }), true
}

// session reads one session of a list.
func (d *decoder) session() (s Session) {
	d.object(func(name string) bool {
		var field *string
		switch name {
		case "project":
			field = &s.Project
		case "link":
			field = &s.Link
		case "agent":
			field = &s.Agent
		case "wire":
			field = &s.Wire
		case "status":
			field = &s.Status
		case "title":
			field = &s.Title
		case "description":
			field = &s.Description
		case "reason":
			field = &s.Reason
		default:
			return false
		}
		*field = d.text()
		return true
	})
	return s
}

// screenText is the screen in a reply.
func screenText(body []byte) (screen string, ok bool) {
	_, ok = reply(body, func(d *decoder, name string) bool {
		if name == "screen" {
			screen = d.text()
			return true
		}
		return false
	})
	return screen, ok
}

// ascii reports whether each byte of s is a character of one cell.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
