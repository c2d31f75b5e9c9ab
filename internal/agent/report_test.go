package agent

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"termio/internal/api"
)

const conversation = "4f3f9c0e-6f0e-4c39-9a6e-0d5a2c5e7f10"

func TestParseReport(t *testing.T) {
	m := builtin(t, "claude")
	for _, tt := range []struct {
		name, state, event, payload string
		want                        Report
	}{
		{
			"prompt", "working", "UserPromptSubmit",
			`{"session_id":"` + conversation + `","transcript_path":"/home/u/t.jsonl","cwd":"/home/u/p","prompt":"fix\nit"}`,
			Report{Status: api.Working, Conversation: conversation, Transcript: "/home/u/t.jsonl", Cwd: "/home/u/p", Prompt: "fix\nit", Told: "fix\nit", Prompted: true, Background: -1},
		},
		{
			"a prompt that a task made", "working", "UserPromptSubmit", `{"prompt":"<task-notification>\n<task-id>a</task-id>"}`,
			Report{Status: api.Working, Prompt: "<task-notification>\n<task-id>a</task-id>", Background: -1},
		},
		{
			"permission", "attention", "PermissionRequest", `{"tool_name":"Bash","tool_input":{"command":"make test\nmake\u0007 clean"}}`,
			Report{Status: api.NeedsYou, Tool: "Bash", Background: -1, Dialog: &api.Dialog{Kind: api.DialogPermission, Question: "Allow Bash?", Detail: "make test\nmake clean"}},
		},
		{
			"question", "attention", "PermissionRequest",
			`{"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which colour?","options":[{"label":"Red"},{"label":"Blue","description":"x"}]}]}}`,
			Report{Status: api.NeedsYou, Tool: "AskUserQuestion", Background: -1, Dialog: &api.Dialog{
				Kind: api.DialogQuestion, Question: "Which colour?", Options: []api.Option{{Number: 1, Label: "Red"}, {Number: 2, Label: "Blue"}},
			}},
		},
		{
			"plan", "attention", "PermissionRequest", `{"tool_name":"ExitPlanMode","tool_input":{"plan":"1. Do it"}}`,
			Report{Status: api.NeedsYou, Tool: "ExitPlanMode", Background: -1, Dialog: &api.Dialog{Kind: api.DialogPermission, Question: "Approve the plan?", Detail: "1. Do it"}},
		},
		{
			"notification", "attention", "Notification", `{"notification_type":"permission_prompt","message":"Claude needs your permission"}`,
			Report{Status: api.NeedsYou, Message: "Claude needs your permission", Background: -1, Dialog: &api.Dialog{Kind: api.DialogPermission, Question: "Claude needs your permission"}},
		},
		{
			"a notification that the matcher keeps out", "attention", "Notification", `{"notification_type":"idle_prompt"}`,
			Report{Status: api.NeedsYou, Background: -1, Silent: "the manifest's matcher for Notification does not fit"},
		},
		{
			"a start after a compaction", "idle", "SessionStart", `{"source":"compact","session_id":"` + conversation + `"}`,
			Report{Status: api.Idle, Conversation: conversation, Background: -1, Silent: "the manifest's matcher for SessionStart does not fit"},
		},
		{
			"end with tasks", "done", "Stop", `{"background_tasks":[{"status":"running"},{"status":"completed"},{"status":"running"}]}`,
			Report{Status: api.Done, Background: 2},
		},
		{"end without", "done", "Stop", `{"background_tasks":[]}`, Report{Status: api.Done}},
		{
			"failure", "done", "StopFailure", `{"error":"unknown","last_assistant_message":"API Error: 400"}`,
			Report{Status: api.Done, Failed: true, Message: "API Error: 400", Background: -1},
		},
		{
			"subagent", "attention", "PermissionRequest", `{"agent_id":"a79","tool_name":"Bash"}`,
			Report{Status: api.NeedsYou, Tool: "Bash", Subagent: "a79", Background: -1, Silent: "an event of the subagent a79"},
		},
		{"an event that a newer manifest added", "working", "PreSomething", `{}`, Report{Status: api.Working, Background: -1}},
		{"nothing", "done", "Stop", ``, Report{Status: api.Done, Background: -1}},
		{"no JSON", "done", "Stop", "\x00\xff{{{", Report{Status: api.Done, Background: -1}},
		{"a list", "done", "Stop", `[1,2]`, Report{Status: api.Done, Background: -1}},
		{
			"cut off", "working", "PreToolUse", `{"session_id":"` + conversation + `","tool_name":"Bash","tool_input":{"command":"cat <<E` + strings.Repeat("x", 100),
			Report{Status: api.Working, Conversation: conversation, Tool: "Bash", Background: -1},
		},
		{
			"hostile", "working", "PreToolUse", `{"session_id":"../../etc","transcript_path":"etc/passwd","cwd":"/a\nb","tool_name":"\u001b[31mBash\u0007"}`,
			Report{Status: api.Working, Tool: "[31mBash", Background: -1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseReport(m, ReportQuery{State: tt.state, Event: tt.event, At: t0}, []byte(tt.payload))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			want.Event, want.At = tt.event, t0
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Report{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, ok := got.Evidence(m); ok != (want.Silent == "") {
				t.Errorf("Evidence: ok = %v", ok)
			}
		})
	}
}

func TestParseReportWithoutManifest(t *testing.T) {
	r, err := ParseReport(nil, ReportQuery{State: "working", ConversationFrom: "id", Transcript: true}, []byte(`{"id":"c1","transcript_path":"/t"}`))
	if err != nil || r.Conversation != "c1" || r.Transcript != "/t" {
		t.Errorf("ParseReport = %+v, %v", r, err)
	}
	for _, state := range []string{"", "needs-you", "closed", "WORKING"} {
		if _, err := ParseReport(nil, ReportQuery{State: state}, nil); err == nil {
			t.Errorf("state %q is one", state)
		}
	}
}

// TestParseReportIsBounded gives a payload of a size that no agent sends.
func TestParseReportIsBounded(t *testing.T) {
	payload := `{"session_id":"c1","prompt":"` + strings.Repeat("a", 8<<20) + `"}`
	r, err := ParseReport(builtin(t, "claude"), ReportQuery{State: "working", Event: "UserPromptSubmit"}, []byte(payload))
	if err != nil || r.Conversation != "c1" || len(r.Prompt) > maxPrompt {
		t.Errorf("ParseReport: %d bytes of prompt, conversation %q, %v", len(r.Prompt), r.Conversation, err)
	}
	if r.Told != "" {
		t.Errorf("of a prompt that is cut %d bytes are given as the whole", len(r.Told))
	}
	deep := strings.Repeat(`{"a":`, 1_000_000)
	if _, err := ParseReport(nil, ReportQuery{State: "done"}, []byte(deep)); err != nil {
		t.Error(err)
	}
}

func TestJudge(t *testing.T) {
	own := Origin{Bound: "c1", BoundAt: at(10), Agent: true, Known: true}
	with := func(change func(*Origin)) Origin {
		o := own
		change(&o)
		return o
	}
	for _, tt := range []struct {
		name           string
		origin         Origin
		report         Report
		accept, rebind bool
	}{
		{"its own", own, Report{Conversation: "c1", At: at(20)}, true, false},
		{"without an id", own, Report{At: at(20)}, true, false},
		{"the first one", with(func(o *Origin) { o.Bound = "" }), Report{Conversation: "c2", At: at(20)}, true, true},
		{"after /clear", own, Report{Conversation: "c2", At: at(20)}, true, true},
		{"the old conversation's last, late", own, Report{Conversation: "c0", At: at(5)}, false, false},
		{"an agent inside the agent's shell", with(func(o *Origin) { o.Agent = false }), Report{Conversation: "c2", At: at(20)}, false, false},
		{"the same with our id in its environment", with(func(o *Origin) { o.Agent = false }), Report{Conversation: "c1", At: at(20)}, false, false},
		{"a subagent", own, Report{Conversation: "c1", Subagent: "a", At: at(20)}, false, false},
		{"a process that has ended, of this conversation", Origin{Bound: "c1"}, Report{Conversation: "c1", At: at(20)}, true, false},
		{"a process that has ended, of another one", Origin{Bound: "c1"}, Report{Conversation: "c2", At: at(20)}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			accept, rebind, why := Judge(tt.origin, tt.report)
			if accept != tt.accept || rebind != tt.rebind {
				t.Errorf("Judge = %v, %v (%s); want %v, %v", accept, rebind, why, tt.accept, tt.rebind)
			}
		})
	}
}

func TestParseProgram(t *testing.T) {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, tt := range []struct {
		payload string
		want    ProgramRecord
		ok      bool
	}{
		{"state=idle", ProgramRecord{State: "idle"}, true},
		{"state=working:app=claude-code:msg=" + b64("Writing x"), ProgramRecord{State: "working", App: "claude-code", Message: "Writing x"}, true},
		{"state=blocked:kind=question:msg=" + strings.TrimRight(b64("Which?"), "="), ProgramRecord{State: "blocked", Kind: "question", Message: "Which?"}, true},
		{"state=working:id=a79:title=" + b64("Look\x1b[31m"), ProgramRecord{State: "working", ID: "a79", Title: "Look [31m"}, true},
		{"state=done:newer=1:progress=40", ProgramRecord{State: "done"}, true},
		{"state=error:msg=%%%", ProgramRecord{State: "error"}, true},
		{"?", ProgramRecord{}, false},
		{"", ProgramRecord{}, false},
		{"state=dancing", ProgramRecord{State: "dancing"}, false},
		{"state=idle:msg=" + strings.Repeat("A", maxProgram), ProgramRecord{}, false},
	} {
		got, ok := ParseProgram(tt.payload)
		if ok != tt.ok || got != tt.want {
			t.Errorf("ParseProgram(%.40q) = %+v, %v; want %+v, %v", tt.payload, got, ok, tt.want, tt.ok)
		}
	}
}

func TestFileEvidence(t *testing.T) {
	m := builtin(t, "claude")
	file := func(status string) []byte {
		return fmt.Appendf(nil, `{"pid":31189,"sessionId":%q,"procStart":"114021","status":%q,"statusUpdatedAt":1796041291675,"waitingFor":"permission prompt"}`, conversation, status)
	}
	me := FileProcess{PID: 31189, Start: "114021"}
	for _, tt := range []struct {
		name string
		data []byte
		p    FileProcess
		want api.Status
		ok   bool
	}{
		{"busy", file("busy"), me, api.Working, true},
		{"waiting", file("waiting"), me, api.NeedsYou, true},
		{"a command runs on in the background", file("shell"), me, api.Idle, true},
		{"a word that is not known", file("dreaming"), me, "", true},
		{"start not known", file("idle"), FileProcess{PID: 31189}, api.Idle, true},
		{"of an older process with this pid", file("busy"), FileProcess{PID: 31189, Start: "999999"}, "", false},
		{"of another process", file("busy"), FileProcess{PID: 5}, "", false},
		{"half written", file("busy")[:60], me, "", false},
		{"empty", nil, me, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev, id, err := m.FileEvidence(tt.data, tt.p, t0)
			if (err == nil) != tt.ok || ev.Status != tt.want {
				t.Fatalf("FileEvidence = %s, %v; want %s, %v", ev.Status, err, tt.want, tt.ok)
			}
			if tt.ok && (id != conversation || !ev.At.Equal(time.UnixMilli(1796041291675))) {
				t.Errorf("conversation %q at %s", id, ev.At)
			}
		})
	}
	env := func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": "/c"}[name] }
	if got := m.StatusFilePath(7, "/home/u", env); got != "/c/sessions/7.json" {
		t.Errorf("StatusFilePath = %q", got)
	}
	if got := (*Manifest)(nil).StatusFilePath(7, "/home/u", env); got != "" {
		t.Errorf("a shell keeps the status file %q", got)
	}
}
