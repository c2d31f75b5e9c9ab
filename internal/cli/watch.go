package cli

import (
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/client"
)

func (a *App) watchCmd() *cobra.Command {
	var (
		o      client.WatchOptions
		states string
		since  int64
	)
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "watch",
		Short: "Print every change of status as it happens",
		Long: `Print a line for each session as it is now, then one for every change of status:
done and needs-you, or what --state names. It runs until it is stopped.

Exit codes: 0 after Ctrl-C or SIGTERM, 1 refused at the start, 2 the stream was
ended from the daemon's side.`,
		Example: `  termio sessions watch --json --state done,needs-you,closed
  termio sessions watch --since 1042`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if cmd.Flags().Changed("state") {
				if o.States, err = parseStates(cmd, states); err != nil {
					return err
				}
			}
			if cmd.Flags().Changed("since") {
				if since < 0 {
					return usage(cmd, api.BadRequest, "--since %d: give the number of the last event you have seen", since)
				}
				o.Since = &since
			}
			o.Heartbeat = a.json
			return a.watch(cmd, o)
		},
	})
	f := cmd.Flags()
	f.StringVar(&states, "state", "", "only the states `S,…`: working, idle, done, needs-you, stalled, closed (default done,needs-you)")
	f.BoolVar(&o.NoSnapshot, "no-snapshot", false, "do not begin with what is now")
	f.BoolVar(&o.All, "all", false, "of every project, not only of this one")
	f.Int64Var(&since, "since", 0, "first what happened after event number `SEQ`")
	return cmd
}

// parseStates reads a --state.
func parseStates(cmd *cobra.Command, list string) ([]api.Status, error) {
	var states []api.Status
	for word := range strings.SplitSeq(list, ",") {
		s, ok := api.ParseStatus(strings.TrimSpace(word))
		if !ok {
			return nil, usage(cmd, api.BadRequest, "--state knows no %q; it takes working, idle, done, needs-you, stalled, closed", word)
		}
		states = append(states, s)
	}
	return states, nil
}

// watch prints lines until a signal, which is its normal end.
func (a *App) watch(cmd *cobra.Command, o client.WatchOptions) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c, err := a.dial(ctx, true)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	colour := a.colours(a.Out)
	return c.Watch(ctx, o, func(l client.Line) error {
		switch {
		case l.Heartbeat:
			return writeLine(a.out(), api.Heartbeat)
		case l.Lost != nil && a.json:
			a.printJSON(l.Lost)
			return a.outputErr()
		case l.Lost != nil:
			fmt.Fprintf(a.Err, "warning: the events from %d to %d are no longer kept; what follows is the state now\n", l.Lost.Since+1, l.Lost.Oldest-1)
		case a.json:
			a.printJSON(l.Event)
			return a.outputErr()
		default:
			return writeLine(a.out(), eventText(*l.Event, colour))
		}
		return nil
	})
}

func writeLine(w io.Writer, s string) error {
	_, err := io.WriteString(w, s+"\n")
	return err
}

// eventText is an event on one line.
func eventText(e api.Event, colour bool) string {
	var b strings.Builder
	if !e.Snapshot {
		b.WriteString(time.UnixMilli(e.At).Format("15:04:05 "))
	}
	fmt.Fprintf(&b, "%s  %s  %s", e.Link, paint(colour, e.Status, "["+string(e.Status)+"]"), clean(e.Title))
	if e.Project != "" {
		fmt.Fprintf(&b, " (%s)", clean(e.Project))
	}
	for _, more := range []string{e.Evidence, e.Prompt, e.Reason} {
		if more != "" {
			fmt.Fprintf(&b, " — %s", clean(more))
		}
	}
	if e.Transcript != "" && e.CursorEnd != nil {
		fmt.Fprintf(&b, " — %s:%d", clean(e.Transcript), *e.CursorEnd)
	}
	return b.String()
}
