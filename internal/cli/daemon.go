package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/config"
)

// daemonCmd is `termio daemon`, which alone is its status.
func (a *App) daemonCmd() *cobra.Command {
	status := a.daemonStatusCmd()
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "daemon",
		Short: "Start, stop and look at the daemon",
		Long: `Start, stop and look at the daemon that keeps the sessions. Every command that
needs it starts it. termio daemon alone is termio daemon status.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(cmd, api.BadOp, "no verb %q; termio daemon has %s", args[0], joinedVerbs(cmd))
			}
			return nil
		},
		RunE: status.RunE,
	})
	start := a.jsonFlag(&cobra.Command{
		Use:   "start",
		Short: "Start the daemon unless it runs",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.daemonStatus(cmd.Context(), true) },
	})
	stop := a.jsonFlag(&cobra.Command{
		Use:   "stop",
		Short: "End every session, then the daemon",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.daemonStop(cmd.Context()) },
	})
	restart := a.jsonFlag(&cobra.Command{
		Use:   "restart",
		Short: "Replace the daemon by this version of the program; sessions live on",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.dial(cmd.Context(), true)
			if err != nil {
				return err
			}
			if err := c.Restart(cmd.Context(), ""); err != nil {
				return err
			}
			return a.daemonStatus(cmd.Context(), false)
		},
	})
	cmd.AddCommand(start, stop, restart, status, a.daemonLogsCmd(), a.daemonRunCmd(), a.daemonHostCmd())
	return cmd
}

// daemonRunCmd is the daemon itself: its first process, the keeper.
func (a *App) daemonRunCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the daemon in the foreground",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env, err := a.env()
			if err != nil {
				return err
			}
			if err := env.EnsureDirs(); err != nil {
				return err
			}
			if err := client.InstallProgram(env.Paths, ""); err != nil {
				return err
			}
			env.Environ = client.DaemonEnviron(env.Environ, env.Paths)
			return a.Roles.Keeper(cmd.Context(), env)
		},
	}
}

// daemonHostCmd is the daemon's second process, which the first one starts.
func (a *App) daemonHostCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "host",
		Short:  "Run the daemon's second process; the first one starts it",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env, err := a.env()
			if err != nil {
				return err
			}
			return a.Roles.Host(cmd.Context(), env)
		},
	}
}

func (a *App) daemonStatusCmd() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "status",
		Short: "Say how the daemon is doing",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.daemonStatus(cmd.Context(), false) },
	})
}

func (a *App) daemonStatus(ctx context.Context, start bool) error {
	c, err := a.dial(ctx, start)
	if err != nil {
		return err
	}
	v, err := c.Daemon(ctx)
	if err != nil {
		return err
	}
	a.print(v, func(w io.Writer) {
		fmt.Fprintf(w, "running: version %s, since %s\n", clean(v.Version), time.UnixMilli(v.StartedAt).Format(time.DateTime))
		fmt.Fprintf(w, "socket: %s\n", clean(v.Socket))
		fmt.Fprintf(w, "processes: keeper %d, host %d (started %s)\n", v.KeeperPID, v.HostPID, times(v.HostStarts))
		fmt.Fprintf(w, "%s, %s attached, %s\n", count(v.Sessions, "live session"), count(v.Clients, "client"), count(v.Watchers, "watcher"))
	})
	var warnings []string
	if v.Warning != "" {
		warnings = append(warnings, v.Warning)
	}
	if v.Version != config.Version {
		warnings = append(warnings, fmt.Sprintf("this command is version %s and the daemon %s; termio daemon restart replaces it, and sessions live on", config.Version, v.Version))
	}
	a.warn(warnings)
	return nil
}

// times is how often something happened, in words.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// daemonStop ends the daemon; that none runs is what was wanted.
func (a *App) daemonStop(ctx context.Context) error {
	env, err := a.env()
	if err != nil {
		return err
	}
	var v api.StopReply
	c, err := a.dial(ctx, false)
	switch {
	case err == nil:
		if v, err = c.Stop(ctx); err != nil {
			return err
		}
	case !nobodyListens(env.Paths):
		return err
	default:
		v.Head = api.OKHead()
	}
	a.print(v, func(w io.Writer) {
		if v.Stopped {
			fmt.Fprintf(w, "stopped; %s ended\n", count(v.Closed, "session"))
		} else {
			fmt.Fprintln(w, "no daemon was running")
		}
	})
	return nil
}

// nobodyListens reports whether there is no daemon, as opposed to one that cannot be
// reached: one that was killed leaves its socket behind, which the next one takes away.
// What is no socket stands in a daemon's way, and a person has to know.
func nobodyListens(p config.Paths) bool {
	if info, err := os.Lstat(p.Socket); err == nil && info.Mode().Type() != fs.ModeSocket {
		return false
	}
	conn, err := net.Dial("unix", p.Socket)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// logsReply answers daemon logs.
type logsReply struct {
	api.Head
	File  string   `json:"file"`
	Lines []string `json:"lines"` // the oldest first
}

func (a *App) daemonLogsCmd() *cobra.Command {
	var lines int
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "logs",
		Short: "Print the end of the daemon's log",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if lines < 1 {
				return usage(cmd, api.BadRequest, "--lines %d: give how many of the last lines to print, 1 or more", lines)
			}
			env, err := a.env()
			if err != nil {
				return err
			}
			v := logsReply{Head: api.OKHead(), File: env.Log, Lines: []string{}}
			last, err := tail(env.Log, lines)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			v.Lines = append(v.Lines, last...)
			a.print(v, func(w io.Writer) {
				fmt.Fprintln(a.Err, "in", env.Log)
				if err != nil {
					fmt.Fprintln(a.Err, "there is no log yet: no daemon has run here")
				}
				for _, line := range v.Lines {
					fmt.Fprintln(w, clean(line))
				}
			})
			return nil
		},
	})
	cmd.Flags().IntVar(&lines, "lines", 100, "the last `N` lines")
	return cmd
}

// tailBytes is how much of a log is looked at for its last lines.
const tailBytes = 1 << 20

// tail gives the last lines of a file, at most so many.
func tail(file string, lines int) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, fi.Size()-tailBytes), tailBytes))
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	text := strings.TrimRight(string(data), "\n")
	if text == "" {
		return nil, nil
	}
	all := strings.Split(text, "\n")
	return all[max(0, len(all)-lines):], nil
}
