package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/client"
)

// historyCmd is `termio agents history`.
func (a *App) historyCmd() *cobra.Command {
	var o client.HistoryOptions
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "history",
		Short: "List the past conversations of every agent in this project",
		Long: `List the conversations that agents have had in this project, newest first, also
those that were begun outside of termio: what the agents keep of them tells. One is
taken up again in a session of its own by
  termio sessions spawn --resume <id>`,
		Example: `  termio agents history --agent claude --limit 10
  termio agents history --project ~/src/shop --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Limit < 0 || cmd.Flags().Changed("limit") && o.Limit == 0 {
				return usage(cmd, api.BadRequest, "--limit %d: give a number of 1 or more", o.Limit)
			}
			if o.Project, err = absolute(o.Project); err != nil {
				return err
			}
			c, err := a.dial(cmd.Context(), true)
			if err != nil {
				return err
			}
			v, err := c.History(cmd.Context(), o)
			if err != nil {
				return err
			}
			a.printHistory(v, time.Now())
			return nil
		},
	})
	cmd.Flags().StringVar(&o.Project, "project", "", "of the project around `DIR`, not of this one")
	cmd.Flags().StringVar(&o.Agent, "agent", "", "only of the agent `ID`")
	cmd.Flags().IntVar(&o.Limit, "limit", 0, "at most `N` conversations (default 50)")
	return cmd
}

// titleRoom is how many cells a title gets beside the path of its record.
const titleRoom = 44

// printHistory prints a conversation a row.
func (a *App) printHistory(v api.HistoryReply, now time.Time) {
	if a.json {
		a.printJSON(v)
		return
	}
	w := a.out()
	if len(v.Conversations) == 0 {
		fmt.Fprintf(w, "%s: no past conversations\n", clean(v.Project))
	} else {
		fmt.Fprintf(w, "%s: %s\n", clean(v.Project), count(len(v.Conversations), "past conversation"))
		rows := make([][]string, len(v.Conversations))
		for i, c := range v.Conversations {
			last := age(c.Updated, now)
			if c.Open {
				last = "open"
			}
			rows[i] = []string{clean(c.ID), clean(c.AgentID), last, cutCells(clean(c.Title), titleRoom), clean(c.Path)}
		}
		table(w, width(a.Out), []string{"ID", "AGENT", "LAST", "TITLE", "RECORD"}, rows, func(_, _ int, cell string) string { return cell })
	}
	if v.More {
		fmt.Fprintln(a.Err, "there are older ones; --limit shows more")
	}
	for _, warning := range v.Warnings {
		fmt.Fprintf(a.Err, "warning: %s\n", clean(warning))
	}
}
