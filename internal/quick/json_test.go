package quick

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`""`: "", `"a b"`: "a b", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u00e9\u65E5x"`: "é日x", `"日本"`: "日本",
	} {
		d := decoder{b: []byte(in)}
		if got := d.text(); got != want || !d.end() {
			t.Errorf("%s is %q, bad %v", in, got, d.bad)
		}
	}
	for _, in := range []string{`"`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\ud83d\ude00"`, "\"\n\"", "\"\xff\"", `a`, ``, `"a"b`, "\"a\\n\x01\""} {
		d := decoder{b: []byte(in)}
		if got := d.text(); d.end() {
			t.Errorf("%q is %q", in, got)
		}
	}
}

// What a list and a screen are taken from reads as encoding/json reads it.
func FuzzReply(f *testing.F) {
	for _, s := range []string{
		`{"ok":true,"schema_version":1,"project":"app","sessions":[]}` + "\n",
		`{"ok":true,"schema_version":1,"project":"a\u00e9","sessions":[{"link":"l","id":"i","title":"t\n","agent":"A","status":"idle",` +
			`"description":"d","dialog":{"kind":"k","options":[{"number":1,"chosen":true}]},"exit_code":0,"pid":-4,"wire":"w"},{"link":"m","reason":"r"}]}` + "\n",
		`{"ok":true,"schema_version":1,"target":"l","title":"zsh","screen":"$ make\nok"}` + "\n",
		`{"ok":false,"error":"not_found","message":"m","schema_version":1}`,
		`{"ok":true,"OK":false,"project":null}`,
		`{"ok":true,"screen":"a","screen":"b"}`,
		`{"ok":true,"a":01,"b":1.5,"c":[[],{}],}`,
		strings.Repeat(`{"ok":[`, 40),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var project, screen string
		var sessions []Session
		_, ok := reply(body, func(d *decoder, name string) bool {
			switch name {
			case "project":
				project = d.text()
			case "screen":
				screen = d.text()
			case "sessions":
				d.list('[', ']', func() { sessions = append(sessions, d.session()) })
			default:
				return false
			}
			return true
		})
		if !ok {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("took %q", body)
		}
		var want struct {
			api.Head
			Project  string
			Screen   string
			Sessions []api.SessionInfo
		}
		if json.Unmarshal(body, &want) != nil {
			return // in a field that is not printed, and no daemon of this version sends
		}
		var rows []Session
		for _, s := range want.Sessions {
			rows = append(rows, Session{s.Project, s.Link, s.Agent, s.Wire, string(s.Status), s.Title, s.Description, s.Reason})
		}
		if diff := cmp.Diff(rows, sessions); diff != "" || !want.OK || want.Project != project || want.Screen != screen {
			t.Errorf("%q: %v %q %q %s", body, want.OK, project, screen, diff)
		}
	})
}
