package cli

import (
	"github.com/spf13/cobra"

	"termio/internal/demo"
)

// demoAgentCmd is `termio demo-agent`. The agent reads its own flags, for they are
// those of the agents it stands for.
func (a *App) demoAgentCmd() *cobra.Command {
	return &cobra.Command{
		Use:                demo.Name + " [flags] [prompt]",
		Short:              "A scripted agent without a model, to try things with",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			code := demo.Run(cmd.Context(), args, demo.Stdio{In: a.In, Out: a.Out, Err: a.Err}, a.environ)
			if code != 0 {
				return Exit(code)
			}
			return nil
		},
	}
}
