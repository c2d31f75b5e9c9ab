package tui

import (
	"context"

	"termio/internal/api"
)

// calls are what the interface asks of the daemon; *client.Client is them.
type calls interface {
	Spawn(ctx context.Context, r api.SpawnRequest) (api.StartReply, error)
	Run(ctx context.Context, r api.RunRequest) (api.StartReply, error)
	Send(ctx context.Context, target string, r api.SendRequest) (api.SendReply, error)
	Close(ctx context.Context, target string) (api.CloseReply, error)
	Rename(ctx context.Context, target, title string) (api.RenameReply, error)
	Resume(ctx context.Context, target string) (api.StartReply, error)
	Explain(ctx context.Context, target string) (api.ExplainReply, error)
	Agents(ctx context.Context) (api.AgentsReply, error)
	Settings(ctx context.Context) (api.SettingsReply, error)
	Set(ctx context.Context, s api.SettingsChange) (api.SettingsReply, error)
}

// startAgent starts an agent in a folder, without a prompt if that is empty.
func startAgent(c calls, r api.SpawnRequest) command {
	return func(ctx context.Context) message {
		r.NoPrompt = r.Prompt == ""
		v, err := c.Spawn(ctx, r)
		if err != nil {
			return failedMsg{err}
		}
		return startedMsg{v.Target}
	}
}

// startTerminal starts a shell in a folder.
func startTerminal(c calls, folder string, cols, rows int) command {
	return func(ctx context.Context) message {
		v, err := c.Run(ctx, api.RunRequest{Shell: true, Cwd: folder, Cols: cols, Rows: rows})
		if err != nil {
			return failedMsg{err}
		}
		return startedMsg{v.Target}
	}
}

// closeSession ends a session.
func closeSession(c calls, link string) command {
	return func(ctx context.Context) message {
		if _, err := c.Close(ctx, link); err != nil {
			return failedMsg{err}
		}
		return nil
	}
}

// renameSession gives a session a title.
func renameSession(c calls, link, title string) command {
	return func(ctx context.Context) message {
		if _, err := c.Rename(ctx, link, title); err != nil {
			return failedMsg{err}
		}
		return nil
	}
}

// resumeSession has a session that has ended go on.
func resumeSession(c calls, link string) command {
	return func(ctx context.Context) message {
		v, err := c.Resume(ctx, link)
		if err != nil {
			return failedMsg{err}
		}
		return startedMsg{v.Target}
	}
}

// answer answers the dialog that the person saw, and no other.
func answer(c calls, link string, d *api.Dialog, text string) command {
	return func(ctx context.Context) message {
		if _, err := c.Send(ctx, link, api.SendRequest{Text: text, Dialog: d}); err != nil {
			return failedMsg{err}
		}
		return nil
	}
}
