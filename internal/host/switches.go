package host

import (
	"slices"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/integrate"
	"termio/internal/notify"
	"termio/internal/vt"
)

// switchesOf are the answers of settings that other programs' files depend on.
func switchesOf(s api.Settings) integrate.Switches {
	return integrate.Switches{Hooks: s.LiveStatus, Trust: s.HookTrust, Skill: s.SessionControl, Link: s.CommandLink}
}

// applySwitches brings other programs' files in line with what was just set. A
// switch that was taken back leaves nothing of its own behind.
func (h *Host) applySwitches(c api.SettingsChange) integrate.Report {
	s := switchesOf(c.Settings)
	if s.Hooks != nil && *s.Hooks && s.Trust == nil { // said before there were hooks
		s.Trust = h.set.get(h.env.SettingsFile, h.log).HookTrust
	}
	for name, answer := range map[string]**bool{"live_status": &s.Hooks, "hook_trust": &s.Trust, "session_control": &s.Skill, "command_link": &s.Link} {
		if *answer == nil && slices.Contains(c.Unset, name) {
			*answer = new(bool)
		}
	}
	<-h.rechecked
	return h.files.Apply(s, h.catalogue().All(), h.installed)
}

// recheckFiles does so at the start, for whatever was answered before: updates
// spread, and what others have changed is put right.
func (h *Host) recheckFiles(s integrate.Switches) {
	if s == (integrate.Switches{}) {
		return
	}
	r := h.files.Recheck(s, h.catalogue().All(), h.installed)
	for _, line := range r.Done {
		h.log.Info("other programs' files", "done", line)
	}
	for _, line := range r.Warnings {
		h.log.Warn("other programs' files", "warning", line)
	}
}

// installed reports whether an agent's command is on the login shell's PATH.
func (h *Host) installed(m *agent.Manifest) bool {
	if m.IsShell() {
		return true
	}
	_, err := h.lookPath(m.Program(), false)
	return err == nil
}

// notifications starts the channels by which a person is told something.
func (h *Host) notifications() *notify.Notifier {
	return notify.New(func(channel string, err error) {
		h.log.Warn("notification not delivered", "channel", channel, "error", err)
	}, notify.Desktop(h.env))
}

// tell notifies the person of an event of a session that nobody has on a screen. What a
// session does that another one spawned is the other one's to follow, until it needs a person.
func (s *session) tell(e api.Event) {
	if s.record().SpawnedBy != "" && e.Status != api.NeedsYou {
		return
	}
	if m, ok := notify.FromEvent(e, s.project.Name); ok {
		s.h.notes.Notify(m)
	}
}

// passOnEvery is how often a session's programs can reach the person's desktop.
const passOnEvery = 5 * time.Second

// passOnLocked passes on what a program asks its terminal to tell the person (OSC 9,
// 777, 99), if nobody has the session on a screen.
func (s *session) passOnLocked(e *vt.Event, now time.Time) {
	if len(s.clients) > 0 || now.Sub(s.passedOn) < passOnEvery {
		return
	}
	s.passedOn = now
	title := s.titleLocked()
	if e.Name != "" {
		title = e.Name + " (" + title + ")"
	}
	s.h.notes.Notify(notify.Notification{Title: title, Body: e.Text, Link: s.id.Link(), Project: s.project.Name})
}

// notifyPerson sends what somebody wrote through every channel.
func (h *Host) notifyPerson(req api.NotifyRequest) (api.NotifyReply, error) {
	ready := h.notes.Ready()
	if len(ready) == 0 {
		return api.NotifyReply{}, api.NewError(api.Unavailable,
			"no channel for notifications is on: this daemon sees no desktop; start it from within one (termio daemon stop, then any command)")
	}
	title := req.Title
	if title == "" {
		title = "termio"
	}
	h.notes.Notify(notify.Notification{Title: title, Body: req.Message})
	return api.NotifyReply{Head: api.OKHead(), Notified: true, Title: title}, nil
}
