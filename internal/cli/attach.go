package cli

import (
	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/config"
)

// attachCmd is `termio attach`.
func (a *App) attachCmd() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "attach <session>",
		Short: "Sit down at a session's terminal",
		Long: `Show a session's terminal in this one and type into it. Ctrl-\ leaves it again,
and the session goes on; every other key goes to the session. Another key can be
given with --detach-key, or for good with termio settings set detach-key.

The session takes on this terminal's size, unless somebody else sits at it: then you
see it in theirs, as much as fits, until you type.
` + targetHelp,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := a.detachKey(cmd, key)
			if err != nil {
				return usage(cmd, api.BadRequest, "%v", err)
			}
			return a.guarded(guardedPart{
				name: "attach", instead: "termio sessions read prints the screen, and termio sessions send types",
				goesOn: "the session goes on", args: []string{sitCommand, "--", k.String(), args[0]},
			})
		},
	}
	cmd.Flags().StringVar(&key, "detach-key", "", "the `KEY` that leaves, such as ctrl-q, or none (default ctrl-\\)")
	return cmd
}

// sitCmd is the attach's second process, which the guard starts.
func (a *App) sitCmd() *cobra.Command {
	return &cobra.Command{
		Use:    sitCommand + " <key> <session>",
		Short:  "Be the second process of an attach; the first one starts it",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := parseDetachKey(args[0])
			if err != nil {
				return usage(cmd, api.BadRequest, "%v", err)
			}
			return a.sit(cmd.Context(), args[1], k)
		},
	}
}

// detachKey is the flag's key, else the person's setting, else the default.
func (a *App) detachKey(cmd *cobra.Command, flag string) (detachKey, error) {
	if cmd.Flags().Changed("detach-key") {
		return parseDetachKey(flag)
	}
	env, err := a.env()
	if err != nil {
		return detachKey{}, err
	}
	if s, err := config.LoadSettings(env.SettingsFile); err == nil && s.DetachKey != "" {
		return parseDetachKey(s.DetachKey)
	}
	return parseDetachKey(defaultDetachKey)
}
