package client

import (
	"context"
	"net/url"
	"syscall"
	"time"

	"termio/internal/api"
)

// ListOptions widen a list.
type ListOptions struct {
	All    bool // every project
	Closed bool // also what ended
}

// ReadOptions choose what of a screen is read.
type ReadOptions struct {
	Lines      int  // the last so many; 0 is all
	Scrollback bool // history too
}

// Version asks what runs, and what it speaks.
func (c *Client) Version(ctx context.Context) (api.VersionReply, error) {
	return do[api.VersionReply](ctx, c, call{route: api.RouteVersion})
}

// List lists the sessions in the caller's scope.
func (c *Client) List(ctx context.Context, o ListOptions) (api.ListReply, error) {
	q := url.Values{}
	flag(q, "all", o.All)
	flag(q, "closed", o.Closed)
	return do[api.ListReply](ctx, c, call{route: api.RouteList, query: q})
}

// Spawn starts an agent session and returns as soon as it exists.
func (c *Client) Spawn(ctx context.Context, r api.SpawnRequest) (api.StartReply, error) {
	r.Waiting = api.Waiting{}
	return change[api.StartReply](ctx, c, call{route: api.RouteSpawn, body: r}, nothingStarted)
}

// SpawnWait starts an agent session and waits for the outcome of its first turn.
func (c *Client) SpawnWait(ctx context.Context, r api.SpawnRequest) (api.WaitReply, error) {
	r.Wait = true
	return doWait(ctx, c, call{route: api.RouteSpawn, body: r}, r.Waiting, nothingStarted)
}

// Run starts a terminal session, enters a command and returns.
func (c *Client) Run(ctx context.Context, r api.RunRequest) (api.StartReply, error) {
	r.Waiting = api.Waiting{}
	return change[api.StartReply](ctx, c, call{route: api.RouteRun, body: r}, nothingStarted)
}

// RunWait starts a terminal session and waits until its command has settled.
func (c *Client) RunWait(ctx context.Context, r api.RunRequest) (api.WaitReply, error) {
	r.Wait = true
	return doWait(ctx, c, call{route: api.RouteRun, body: r}, r.Waiting, nothingStarted)
}

// Send types into a session.
func (c *Client) Send(ctx context.Context, target string, r api.SendRequest) (api.SendReply, error) {
	r.Waiting = api.Waiting{}
	return change[api.SendReply](ctx, c, call{route: api.RouteSend, target: target, body: r}, nothingTyped(target))
}

// SendWait types into a session and waits for the outcome of the turn.
func (c *Client) SendWait(ctx context.Context, target string, r api.SendRequest) (api.WaitReply, error) {
	r.Wait = true
	return doWait(ctx, c, call{route: api.RouteSend, target: target, body: r}, r.Waiting, nothingTyped(target))
}

// Read gives a session's screen as text.
func (c *Client) Read(ctx context.Context, target string, o ReadOptions) (api.ReadReply, error) {
	q := url.Values{}
	number(q, "lines", o.Lines)
	flag(q, "scrollback", o.Scrollback)
	return do[api.ReadReply](ctx, c, call{route: api.RouteRead, target: target, query: q})
}

// Close ends a session.
func (c *Client) Close(ctx context.Context, target string) (api.CloseReply, error) {
	return change[api.CloseReply](ctx, c, call{route: api.RouteClose, target: target}, notClosed(target))
}

// Focus brings a session to the front of every open interface.
func (c *Client) Focus(ctx context.Context, target string) (api.FocusReply, error) {
	return do[api.FocusReply](ctx, c, call{route: api.RouteFocus, target: target})
}

// Resume starts a closed session again under the same link.
func (c *Client) Resume(ctx context.Context, target string) (api.StartReply, error) {
	return change[api.StartReply](ctx, c, call{route: api.RouteResume, target: target}, notResumed(target))
}

// Rename gives a session a title of the person's own; "" takes it back.
func (c *Client) Rename(ctx context.Context, target, title string) (api.RenameReply, error) {
	return do[api.RenameReply](ctx, c, call{route: api.RouteRename, target: target, body: api.RenameRequest{Title: title}})
}

// Explain gives the evidence behind a session's status.
func (c *Client) Explain(ctx context.Context, target string) (api.ExplainReply, error) {
	return do[api.ExplainReply](ctx, c, call{route: api.RouteExplain, target: target})
}

// Notify sends a notification through every channel that is on.
func (c *Client) Notify(ctx context.Context, r api.NotifyRequest) (api.NotifyReply, error) {
	return do[api.NotifyReply](ctx, c, call{route: api.RouteNotify, body: r})
}

// Open adds a folder as a project and selects it, or focuses a link.
func (c *Client) Open(ctx context.Context, r api.OpenRequest) (api.OpenReply, error) {
	return do[api.OpenReply](ctx, c, call{route: api.RouteOpen, body: r})
}

// Agents lists the agents that can be started.
func (c *Client) Agents(ctx context.Context) (api.AgentsReply, error) {
	return do[api.AgentsReply](ctx, c, call{route: api.RouteAgents})
}

// HistoryOptions choose which past conversations are listed.
type HistoryOptions struct {
	Project string // a folder in it; "" is the caller's project
	Agent   string // id or display name; "" is every one
	Limit   int    // at most so many; 0 is the daemon's default
}

// History lists the past conversations of agents in a project.
func (c *Client) History(ctx context.Context, o HistoryOptions) (api.HistoryReply, error) {
	q := url.Values{}
	number(q, "limit", o.Limit)
	for name, v := range map[string]string{"project": o.Project, "agent": o.Agent} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return do[api.HistoryReply](ctx, c, call{route: api.RouteHistory, query: q})
}

// Settings gives the switches as they stand.
func (c *Client) Settings(ctx context.Context) (api.SettingsReply, error) {
	return do[api.SettingsReply](ctx, c, call{route: api.RouteSettings})
}

// Set changes the switches that s holds and leaves the others.
func (c *Client) Set(ctx context.Context, s api.SettingsChange) (api.SettingsReply, error) {
	return do[api.SettingsReply](ctx, c, call{route: api.RouteSet, body: s})
}

// Daemon asks the daemon how it is.
func (c *Client) Daemon(ctx context.Context) (api.DaemonReply, error) {
	return do[api.DaemonReply](ctx, c, call{route: api.RouteDaemon})
}

// Stop ends every session, then the daemon, and returns when it is gone. Many
// sessions that each use their grace take longer than a one-shot call.
func (c *Client) Stop(ctx context.Context) (api.StopReply, error) {
	patience := c.opts.Timeout + waitGrace
	v, err := do[api.StopReply](ctx, c, call{route: api.RouteStop, timeout: patience})
	if err != nil || !v.Stopped {
		return v, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !c.gone(ctx) {
		return v, unavailable("the termio daemon ended its sessions but has not ended itself within %s; look at %s", patience, c.paths.Log)
	}
	return v, nil
}

// Restart replaces the host by one of the program exe, "" being the running one,
// and returns when that answers. Sessions live on: the keeper holds them. Calls
// that come meanwhile wait.
func (c *Client) Restart(ctx context.Context, exe string) error {
	d, err := c.Daemon(ctx)
	if err != nil {
		return err
	}
	before, err := c.hostName(ctx, c.opts.Timeout)
	if err != nil {
		return err
	}
	if err := InstallProgram(c.paths, exe); err != nil {
		return unavailable("cannot replace the termio daemon: %v", err)
	}
	if err := syscall.Kill(d.HostPID, syscall.SIGTERM); err != nil {
		return unavailable("cannot end the termio daemon's process %d: %v", d.HostPID, err)
	}
	_, err = again(ctx, time.Now().Add(startTimeout), func(within time.Duration) (string, error) {
		now, err := c.hostName(ctx, within)
		if err == nil && now == before {
			err = unavailable("the termio daemon's process %d does not end; look at %s", d.HostPID, c.paths.Log)
		}
		return now, err
	})
	return err
}
