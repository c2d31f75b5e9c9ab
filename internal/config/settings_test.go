package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
)

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

func TestDefaults(t *testing.T) {
	want := Values{SessionControl: true, StalledAfter: 20 * time.Minute, StalledLines: 5, HistoryLines: 10000, CloseGrace: 2 * time.Second}
	if diff := cmp.Diff(want, ValuesOf(api.Settings{})); diff != "" {
		t.Error(diff)
	}
	got := ValuesOf(api.Settings{SessionControl: yes(), LiveStatus: yes(), CloseGraceMS: 10, DefaultAgent: "demo"})
	want = Values{
		LiveStatus: true, SessionControl: true, Skill: true, DefaultAgent: "demo",
		StalledAfter: 20 * time.Minute, StalledLines: 5, HistoryLines: 10000, CloseGrace: 10 * time.Millisecond,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if ValuesOf(api.Settings{SessionControl: no()}).SessionControl {
		t.Error("session control cannot be switched off")
	}
}

func TestSettingsAbsentOrEmpty(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.json")
	for _, content := range []string{"absent", "", " \n", "{}", "\xef\xbb\xbf{}"} {
		if content != "absent" {
			write(t, file, content, 0o600)
		}
		if s, err := LoadSettings(file); err != nil || s != (api.Settings{}) {
			t.Errorf("%q: %+v, %v", content, s, err)
		}
		if err := SaveSettings(file, api.Settings{}); err != nil {
			t.Errorf("%q: save nothing: %v", content, err)
		}
	}
}

func TestSaveSettingsInPlace(t *testing.T) {
	tests := []struct {
		name, in string
		set      func(*api.Settings)
		want     string
	}{
		{
			"a new file", "",
			func(s *api.Settings) { s.LiveStatus = yes(); s.DefaultAgent = "claudeCode" },
			"{\n  \"live_status\": true,\n  \"default_agent\": \"claudeCode\"\n}\n",
		},
		{
			"comments, order and unknown keys",
			"// mine\n{\n\t\"zoo\": [1, 2,], // theirs\n\t\"live_status\": true, // on\n\t\"history_lines\": 5000, // enough\n}\n",
			func(s *api.Settings) { s.LiveStatus = no(); s.StalledLines = 3 },
			"// mine\n{\n\t\"zoo\": [1, 2,], // theirs\n\t\"live_status\": false, // on\n\t\"history_lines\": 5000, // enough\n\t\"stalled_lines\": 3\n}\n",
		},
		{
			"no trailing comma, comment behind the last",
			"{\n  \"zoo\": 1 // theirs\n}",
			func(s *api.Settings) { s.StalledLines = 3 },
			"{\n  \"zoo\": 1, // theirs\n  \"stalled_lines\": 3\n}",
		},
		{
			"one line", `{"zoo":1}`,
			func(s *api.Settings) { s.StalledLines = 3 },
			`{"zoo":1,"stalled_lines": 3}`,
		},
		{
			"CRLF and BOM", "\xef\xbb\xbf{\r\n    \"zoo\": 1\r\n}\r\n",
			func(s *api.Settings) { s.StalledLines = 3 },
			"\xef\xbb\xbf{\r\n    \"zoo\": 1,\r\n    \"stalled_lines\": 3\r\n}\r\n",
		},
		{
			"unset keeps the comment above", "{\n  // why\n  \"stalled_lines\": 3,\n  \"zoo\": 1\n}\n",
			func(s *api.Settings) { s.StalledLines = 0 },
			"{\n  // why\n  \"zoo\": 1\n}\n",
		},
		{
			"unset the last", "{\n  \"zoo\": 1,\n  \"stalled_lines\": 3\n}\n",
			func(s *api.Settings) { s.StalledLines = 0 },
			"{\n  \"zoo\": 1\n}\n",
		},
		{
			"a key that stands twice", `{"stalled_lines": 3, "stalled_lines": 4}`,
			func(s *api.Settings) { s.StalledLines = 9 },
			`{"stalled_lines": 3, "stalled_lines": 9}`,
		},
		{
			"nothing to change", "{ \"stalled_lines\" :4,}",
			func(s *api.Settings) {},
			"{ \"stalled_lines\" :4,}",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "settings.json")
			if tt.in != "" {
				write(t, file, tt.in, 0o600)
			}
			s, err := LoadSettings(file)
			if err != nil {
				t.Fatal(err)
			}
			tt.set(&s)
			for range 2 {
				if err := SaveSettings(file, s); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.want, read(t, file)); diff != "" {
				t.Error(diff)
			}
			back, err := LoadSettings(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s, back); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSettingsThatCannotBeUsed(t *testing.T) {
	tests := []struct {
		name, in     string
		line, column int
		want         string
	}{
		{"truncated", "{\n  \"live_status\": tr", 2, 18, ""},
		{"two commas", "{\n  \"zoo\": 1,,\n}", 2, 12, ""},
		{"no object", "\n[1]", 2, 1, "one object"},
		{"wrong kind", "{\n  \"live_status\": \"yes\"\n}", 2, 18, "live_status must be true or false"},
		{"fraction", "{\"history_lines\": 1.5}", 1, 19, "history_lines must be a whole number"},
		{"negative", "{\n\n \"close_grace_ms\": -1}", 3, 20, "must not be negative"},
		{"text", "{\"default_agent\": 4}", 1, 19, "default_agent must be a string"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "settings.json")
			write(t, file, tt.in, 0o600)
			_, err := LoadSettings(file)
			e, ok := errors.AsType[*SettingsError](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if e.File != file || e.Line != tt.line || e.Column != tt.column || !strings.Contains(e.Reason, tt.want) || e.Reason == "" {
				t.Errorf("%+v, want line %d column %d %q", e, tt.line, tt.column, tt.want)
			}
			if msg := err.Error(); !strings.Contains(msg, "by hand") || strings.Contains(msg, "hujson") {
				t.Errorf("message %q", msg)
			}
			if err := SaveSettings(file, api.Settings{StalledLines: 7}); err == nil {
				t.Error("saved over it")
			}
			if got := read(t, file); got != tt.in {
				t.Errorf("the file became %q", got)
			}
		})
	}
}

// What stands before a bad value still counts: one typing error does not
// switch everything else back to its default.
func TestSettingsBeforeABadValueCount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.json")
	write(t, file, `{"session_control": false, "history_lines": "many"}`, 0o600)
	s, err := LoadSettings(file)
	if err == nil || ValuesOf(s).SessionControl {
		t.Errorf("settings %+v, error %v", s, err)
	}
}

func TestSaveSettingsRefusesNegatives(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.json")
	err := SaveSettings(file, api.Settings{StalledAfterMS: -5})
	if err == nil || !strings.Contains(err.Error(), "stalled_after_ms is -5") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file was written")
	}
}

func TestMergeSettings(t *testing.T) {
	got := MergeSettings(api.Settings{LiveStatus: yes(), StalledLines: 2}, api.Settings{LiveStatus: no(), DefaultAgent: "demo"})
	want := api.Settings{LiveStatus: no(), StalledLines: 2, DefaultAgent: "demo"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever parses as settings can be changed and read back, and what does not parse is
// an error. Files are out of it: an edit waits for the disk, for nearly all of its time.
func FuzzChangeSettings(f *testing.F) {
	f.Add("{\n  // c\n  \"stalled_lines\": 3, /* d */\n}\n", 4, true)
	f.Add("\xef\xbb\xbf{\"a\":{\"b\":[1,]}} // e", 0, false)
	f.Add("{\"stalled_lines\":1 /*x*/,\"live_status\":null//y\n}", 9, true)
	f.Fuzz(func(t *testing.T, in string, lines int, live bool) {
		_, s, parseErr := parseSettings("f", []byte(in))
		s.StalledLines, s.LiveStatus = max(lines, 0), &live
		var out []byte
		err := checkSettings(s)
		if err == nil {
			out, err = changeSettings("f", []byte(in), s)
		}
		if err != nil {
			if parseErr == nil {
				t.Fatalf("loads but cannot be saved: %v", err)
			}
			return
		}
		_, back, err := parseSettings("f", out)
		if diff := cmp.Diff(s, back); err != nil || diff != "" {
			t.Fatalf("reads back otherwise (%v): %s", err, diff)
		}
		if n, m := strings.Count(in, "/*"), strings.Count(string(out), "/*"); n != m {
			t.Fatalf("comments lost: %q became %q", in, out)
		}
	})
}

func TestUnsetSettings(t *testing.T) {
	s := api.Settings{LiveStatus: yes(), CommandLink: yes(), StalledLines: 3}
	got, err := UnsetSettings(s, []string{"live_status", "stalled_lines"})
	if diff := cmp.Diff(api.Settings{CommandLink: yes()}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := UnsetSettings(s, []string{"live_status", "colour"}); err == nil || !strings.Contains(err.Error(), `"colour"`) {
		t.Errorf("error %v", err)
	}
}
