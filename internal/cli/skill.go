package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/integrate"
)

// skillReply answers skill.
type skillReply struct {
	api.Head
	Name string `json:"name"`
	Text string `json:"text"` // the file as it is installed
}

// skillCmd is `termio skill`.
func (a *App) skillCmd() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "skill",
		Short: "Print the skill that teaches an agent to drive sessions",
		Long: `Print the skill that teaches an agent to drive sessions, as termio setup installs it.
Where termio does not know the agent, put it by hand where that one looks for skills.`,
		Example: "  termio skill >~/.mine/skills/termio/SKILL.md",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := skillReply{Head: api.OKHead(), Name: "termio", Text: string(integrate.Skill())}
			a.print(v, func(w io.Writer) { fmt.Fprint(w, v.Text) })
			return nil
		},
	})
}
