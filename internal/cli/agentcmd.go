package cli

import (
	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/quick"
)

// ReportFast runs `termio agent report …` without a command tree and reports
// whether that is what the arguments ask for. Agents call it at every step, so
// it comes before everything else that quick has left; it prints nothing, fails
// never and is done within a second.
func ReportFast(args, environ []string) bool {
	if len(args) < 2 || args[0] != "agent" || args[1] != "report" {
		return false
	}
	r, ok := quick.ParseReport(args[2:])
	if ok {
		r.Post(client.ReportPlace(environ), 0, 1)
	}
	return ok
}

// agentCmd is `termio agent`: what agents' hooks call. Its only verb is run by
// ReportFast; the tree knows it for its help.
func (a *App) agentCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "What hooks in agents call",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(cmd, api.BadOp, "no verb %q; termio agent has report, and termio agents lists the agents", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var r quick.Report
	report := &cobra.Command{
		Use:   "report <working|attention|done|idle>",
		Short: "Report an agent's status from one of its hooks",
		Long: `Report an agent's status from one of its hooks. The session is the one that
TERMIO_SESSION names; the hook's own JSON is read from standard input. It prints
nothing, ends within a second and never fails: no daemon, no session and bad
input are silent, with exit code 0.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				r.State = args[0]
			}
			r.Post(client.ReportPlace(a.environ), 0, 1)
			return nil
		},
	}
	f := report.Flags()
	f.StringVar(&r.Event, "event", "", "the hook's own `NAME` for what happened")
	f.StringVar(&r.ConversationFrom, "conversation-from", "", "the `FIELD` of the hook's JSON that holds the conversation's id")
	f.BoolVar(&r.Transcript, "transcript", false, "the hook's JSON names the transcript")
	f.BoolVar(&r.Reply, "reply", false, "print {} for an agent that reads the hook's answer")
	f.Int64Var(&r.At, "at", 0, "when it happened, in `MILLISECONDS` since 1970, if not now")
	cmd.AddCommand(report)
	return cmd
}
