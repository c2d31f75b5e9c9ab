package host

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/config"
)

// Version says what runs and what it speaks.
func Version() api.VersionReply {
	return api.VersionReply{Head: api.OKHead(), Version: config.Version, API: api.SchemaVersion}
}

// Daemon says how the daemon is doing.
func (h *Host) Daemon() (api.DaemonReply, error) {
	k := h.keeper.Keeper()
	r := api.DaemonReply{
		Head: api.OKHead(), Version: config.Version, Home: h.env.Home, Socket: h.env.Socket,
		KeeperPID: k.PID, HostPID: os.Getpid(), HostStarts: k.Hosts, StartedAt: h.started.UnixMilli(),
		Sessions: len(h.open()), Clients: int(h.clients.Load()), Watchers: h.bus.watchers(),
	}
	select {
	case <-h.keeper.Lost():
		r.KeeperPID = 0
		r.Warning = "the keeper has gone: sessions go on, but none can be started; restart the daemon when they allow it"
	default:
	}
	return r, nil
}

// Focus brings a session to the front of every open interface.
func (h *Host) Focus(c Caller, target string) (api.FocusReply, error) {
	s, err := h.find(c, target)
	if err != nil {
		return api.FocusReply{}, err
	}
	if h.fleet.tell(func(v *FleetView) { v.focus, v.open = s.id.Link(), "" }) {
		return api.FocusReply{Head: api.OKHead(), Focused: s.id.Link()}, nil
	}
	return api.FocusReply{}, api.NewError(api.Unavailable,
		fmt.Sprintf("no interface is open that could show the session; attach to it with: termio attach %s", s.id.Link()))
}

// Notify tells the person something through every channel that is on.
func (h *Host) Notify(_ context.Context, _ Caller, req api.NotifyRequest) (api.NotifyReply, error) {
	if err := checkText(req.Message, true); err != nil {
		return api.NotifyReply{}, err
	}
	return h.notifyPerson(req)
}

// Agents lists the agents that can be started, and the manifests that do not load.
func (h *Host) Agents() (api.AgentsReply, error) {
	cat := h.catalogue()
	reply := api.AgentsReply{Head: api.OKHead(), Agents: []api.AgentInfo{}}
	for _, m := range cat.All() {
		i := api.AgentInfo{
			ID: m.ID, Name: m.Name, Wire: m.Token(), Command: m.Command, Install: m.Install, Source: m.Source, Unverified: m.Unverified,
			Installed: m.IsShell(),
		}
		if !m.IsShell() {
			if path, err := h.lookPath(m.Program(), false); err == nil {
				i.Installed, i.Path = true, path
			}
		}
		for _, w := range m.Warnings {
			i.Warnings = append(i.Warnings, w.String())
		}
		s := h.files.Standing(m)
		i.Hooks, i.HooksFile, i.Skill, i.SkillFile = s.Hooks, s.HooksFile, s.Skill, s.SkillFile
		if s.TrustFile != "" {
			i.Trust, i.TrustFile = s.Trust, s.TrustFile
		}
		i.Warnings = append(i.Warnings, s.Notes...)
		reply.Agents = append(reply.Agents, i)
	}
	for _, p := range cat.Problems() {
		reply.Problems = append(reply.Problems, p.API())
	}
	return reply, nil
}

// Settings gives the switches as they stand.
func (h *Host) Settings() (api.SettingsReply, error) {
	r := api.SettingsReply{Head: api.OKHead(), Settings: h.set.get(h.env.SettingsFile, h.log), File: h.env.SettingsFile}
	if err := h.set.trouble(); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%v; until it is mended the last good settings are in force, or the defaults", err))
	}
	if s := r.Settings.LiveStatus; s != nil && *s {
		for _, m := range h.catalogue().All() {
			if _, notes, err := h.files.Hooks(m); err == nil && h.installed(m) {
				r.Warnings = append(r.Warnings, notes...)
			}
		}
	}
	return r, nil
}

// Set changes the switches that a change names.
func (h *Host) Set(c api.SettingsChange) (api.SettingsReply, error) {
	if err := h.checkDefaultAgent(c.DefaultAgent); err != nil {
		return api.SettingsReply{}, err
	}
	now, err := config.LoadSettings(h.env.SettingsFile)
	if err != nil {
		return api.SettingsReply{}, asAPI(api.BadRequest, "change the settings", err)
	}
	if now, err = config.UnsetSettings(now, c.Unset); err == nil {
		err = config.SaveSettings(h.env.SettingsFile, config.MergeSettings(now, c.Settings))
	}
	if err != nil {
		return api.SettingsReply{}, asAPI(api.BadRequest, "change the settings", err)
	}
	r := h.applySwitches(c)
	reply, err := h.Settings() // as it is now: what a switch has put right is no warning
	for _, w := range r.Warnings {
		if !slices.Contains(reply.Warnings, w) {
			reply.Warnings = append(reply.Warnings, w)
		}
	}
	reply.Done = r.Done
	return reply, err
}

// checkDefaultAgent refuses a default that no spawn could use.
func (h *Host) checkDefaultAgent(word string) error {
	if word == "" {
		return nil
	}
	switch m, ok := h.catalogue().Find(word); {
	case !ok:
		return api.NewError(api.BadAgent, fmt.Sprintf("no agent %q; termio agents list shows them", printable(word)))
	case m.IsShell():
		return api.NewError(api.BadAgent, "a plain terminal is no agent; termio sessions run starts one")
	}
	return nil
}

// settingsFile is the settings as the file has them, read again when it changed. A
// file that cannot be used leaves the last good settings in place.
type settingsFile struct {
	mu    sync.Mutex
	stamp string
	good  api.Settings
	err   error // why the file as it is now cannot be used
}

// trouble is why the file cannot be used, as of the last get.
func (f *settingsFile) trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *settingsFile) get(file string, log *slog.Logger) api.Settings {
	f.mu.Lock()
	defer f.mu.Unlock()
	stamp := fileStamp(file)
	if stamp == f.stamp {
		return f.good
	}
	f.stamp = stamp
	s, err := config.LoadSettings(file)
	f.err = err
	if err != nil {
		log.Warn("settings not read; the last good ones stay", "error", err)
		return f.good
	}
	f.good = s
	return s
}

// agentFiles is the catalogue, read again when the person's manifests changed.
type agentFiles struct {
	mu    sync.Mutex
	stamp string
	cat   *agent.Catalogue
}

func (f *agentFiles) get(dir string, log *slog.Logger) *agent.Catalogue {
	f.mu.Lock()
	defer f.mu.Unlock()
	stamp := folderStamp(dir)
	if f.cat != nil && stamp == f.stamp {
		return f.cat
	}
	f.stamp = stamp
	f.cat = agent.Load(os.DirFS(dir), f.cat)
	for _, p := range f.cat.Problems() {
		log.Warn("manifest not loaded", "problem", p.String())
	}
	return f.cat
}

// fileStamp tells one state of a file from another.
func fileStamp(file string) string {
	fi, err := os.Stat(file)
	if err != nil {
		return "none"
	}
	return fmt.Sprint(fi.Size(), fi.ModTime().UnixNano(), fileIdentity(fi))
}

// folderStamp tells one state of a folder's files from another.
func folderStamp(dir string) string {
	sum := fnv.New64a()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "none"
	}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && fi.Mode()&fs.ModeDir == 0 {
			_, _ = fmt.Fprintln(sum, e.Name(), fi.Size(), fi.ModTime().Format(time.RFC3339Nano), fileIdentity(fi))
		}
	}
	return fmt.Sprint(sum.Sum64())
}
