package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"termio/internal/api"
)

// notifyCmd is `termio notify`.
func (a *App) notifyCmd() *cobra.Command {
	var req api.NotifyRequest
	cmd := a.jsonFlag(&cobra.Command{
		Use:     "notify [--title T] <message>",
		Short:   "Send a notification through every channel that is on",
		Example: `  termio notify --title Build "it is green"`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if req.Message, err = a.text(args); err != nil {
				return err
			}
			if strings.TrimSpace(req.Message) == "" {
				return usage(cmd, api.NoText, "notify needs a message")
			}
			c, err := a.dial(cmd.Context(), true)
			if err != nil {
				return err
			}
			v, err := c.Notify(cmd.Context(), req)
			if err != nil {
				return err
			}
			a.print(v, func(w io.Writer) { fmt.Fprintln(w, "notified") })
			return nil
		},
	})
	cmd.Flags().StringVar(&req.Title, "title", "", "the title `T`")
	return cmd
}
