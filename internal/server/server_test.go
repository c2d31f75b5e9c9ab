package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

func TestMain(m *testing.M) {
	if code, ok := termtest.Role(); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// What comes in that is no proper call has an error object and the code's status.
func TestRefusals(t *testing.T) {
	d := termtest.Start(t)
	link := d.Run("cat")
	tests := []struct {
		name, method, path, body string
		header                   string
		status                   int
		code                     api.Code
	}{
		{name: "unknown path", method: "GET", path: "/v1/nothing", status: 404, code: api.BadOp},
		{name: "unknown method", method: "PUT", path: "/v1/sessions", status: 404, code: api.BadOp},
		{name: "a verb that is none", method: "POST", path: "/v1/sessions/x/dance", status: 404, code: api.BadOp},
		{name: "a web page", method: "GET", path: "/v1/version", header: "Origin: https://example.invalid", status: 403, code: api.BadRequest},
		{name: "a file's page", method: "GET", path: "/v1/version", header: "Origin: null", status: 403, code: api.BadRequest},
		{name: "no JSON", method: "POST", path: "/v1/sessions/spawn", body: "{", status: 400, code: api.BadRequest},
		{name: "too long", method: "POST", path: "/v1/projects", body: `{"path": "/` + strings.Repeat("x", 100_000) + `"}`, status: 400, code: api.BadRequest},
		{name: "a number that is none", method: "GET", path: "/v1/sessions/" + link[len(api.LinkPrefix):] + "/screen?lines=x", status: 400, code: api.BadRequest},
		{name: "a state that is none", method: "GET", path: "/v1/watch?state=busy", status: 400, code: api.BadRequest},
		{name: "a folder that is escaped badly", method: "GET", path: "/v1/sessions", header: api.HeaderCwd + ": %zz", status: 400, code: api.BadRequest},
		{name: "attach without an upgrade", method: "GET", path: "/v1/sessions/" + link[len(api.LinkPrefix):] + "/attach", status: 400, code: api.BadRequest},
		{name: "attach to nothing", method: "GET", path: "/v1/sessions/nothing/attach", header: "Upgrade: " + api.AttachProtocol, status: 404, code: api.NotFound},
		{name: "a report without a state", method: "POST", path: "/v1/reports?state=dancing", body: "{}", status: 400, code: api.BadRequest},
		{name: "a key that is none", method: "POST", path: "/v1/sessions/" + link[len(api.LinkPrefix):] + "/send", body: `{"keys": ["Whatever"]}`, status: 400, code: api.BadKey},
		{name: "a text that is empty", method: "POST", path: "/v1/sessions/" + link[len(api.LinkPrefix):] + "/send", body: `{"text": ""}`, status: 400, code: api.NoText},
		{name: "an answer to a terminal", method: "POST", path: "/v1/sessions/" + link[len(api.LinkPrefix):] + "/send", body: `{"text": "1", "answer": true}`, status: 400, code: api.WrongAgent},
		{name: "no interface to bring to the front", method: "POST", path: "/v1/sessions/" + link[len(api.LinkPrefix):] + "/focus", status: 503, code: api.Unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(d.Context(), tt.method, "http://termio"+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set(api.HeaderCwd, d.Dir)
			if name, value, ok := strings.Cut(tt.header, ": "); ok {
				req.Header.Set(name, value)
			}
			res, err := d.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var e struct {
				OK            *bool    `json:"ok"`
				Code          api.Code `json:"error"`
				Message       string   `json:"message"`
				SchemaVersion int      `json:"schema_version"`
			}
			if err := json.NewDecoder(res.Body).Decode(&e); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tt.status || e.Code != tt.code {
				t.Errorf("status %d, code %q (%s); want %d, %q", res.StatusCode, e.Code, e.Message, tt.status, tt.code)
			}
			if e.OK == nil || *e.OK || e.Message == "" || e.SchemaVersion != api.SchemaVersion {
				t.Errorf("error object: %+v", e)
			}
		})
	}
}

// Another user's connection is closed without an answer, even where that user can
// reach the socket.
func TestAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	d := termtest.Start(t)
	for dir := filepath.Dir(d.Paths.Socket); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // our own client refuses an open folder
	}
	if err := os.Chmod(d.Paths.Socket, 0o777); err != nil {
		t.Fatal(err)
	}
	ask := func(uid uint32) (string, error) {
		cmd := exec.Command("curl", "-sS", "--max-time", "20", "--unix-socket", d.Paths.Socket, "http://t/v1/version")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := ask(65534); err == nil {
		t.Errorf("another user was answered: %s", out)
	}
	if out, err := ask(0); err != nil || !strings.Contains(out, `"ok":true`) {
		t.Errorf("our own user: %s, %v", out, err)
	}
}

// Session control that is off answers no call of it; reports, settings and the daemon
// go on.
func TestSessionControlOff(t *testing.T) {
	d := termtest.Start(t)
	off, on := false, true
	set := func(v *bool) {
		t.Helper()
		if _, err := d.Client().Set(d.Context(), api.SettingsChange{Settings: api.Settings{SessionControl: v}}); err != nil {
			t.Fatal(err)
		}
	}
	set(&off)
	for _, path := range []string{"/v1/sessions/spawn", "/v1/sessions/run", "/v1/sessions/x/send", "/v1/sessions/x/resume"} {
		if err := d.Post(path, map[string]any{}); api.CodeOf(err) != api.Disabled {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"/v1/sessions", "/v1/watch", "/v1/sessions/x/screen", "/v1/sessions/x/explain"} {
		res, err := d.Get(d.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	if err := d.Post("/v1/projects", api.OpenRequest{Path: d.Dir}); err != nil {
		t.Errorf("open: %v", err)
	}
	// An interface goes on: what a person does there is no session control.
	face, err := client.Dial(d.Context(), d.Paths, client.Options{Cwd: d.Dir, Interface: true})
	if err != nil {
		t.Fatal(err)
	}
	started, err := face.Run(d.Context(), api.RunRequest{Shell: true, Cwd: d.Dir})
	if err != nil {
		t.Fatalf("an interface starts a terminal: %v", err)
	}
	if _, err := face.Send(d.Context(), started.Target, api.SendRequest{Text: "true"}); err != nil {
		t.Errorf("an interface sends: %v", err)
	}
	inside := client.Options{Cwd: d.Dir, Interface: true, Session: strings.TrimPrefix(started.Target, api.LinkPrefix)}
	if c, err := client.Dial(d.Context(), d.Paths, inside); err != nil {
		t.Error(err)
	} else if _, err := c.Close(d.Context(), started.Target); api.CodeOf(err) != api.NoScope {
		t.Errorf("an agent that calls itself an interface closes a session: %v", err)
	}
	if _, err := face.Close(d.Context(), started.Target); err != nil {
		t.Errorf("an interface closes: %v", err)
	}
	set(&on)
	if _, err := d.Client().List(d.Context(), client.ListOptions{}); err != nil {
		t.Error(err)
	}
}
