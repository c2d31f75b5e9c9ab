package notify

import (
	"context"
	"fmt"
	"os/exec"

	"termio/internal/config"
)

// Desktop is this machine's desktop, through AppleScript. Untested on a real
// machine.
func Desktop(config.Env) Channel { return script{} }

type script struct{}

func (script) Name() string { return "desktop" }

func (script) Ready() bool { return true }

// Send passes the texts as arguments: none becomes a part of the script.
func (script) Send(ctx context.Context, n Notification) error {
	const show = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
	if out, err := exec.CommandContext(ctx, "/usr/bin/osascript", "-e", show, "--", n.Title, n.Body).CombinedOutput(); err != nil {
		return fmt.Errorf("show a desktop notification: %w: %.200s", err, out)
	}
	return nil
}

func (script) Close() error { return nil }
