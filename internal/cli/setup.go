package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/integrate"
)

// setupCmd is `termio setup`: the answers to what nobody has answered yet.
func (a *App) setupCmd() *cobra.Command {
	var yes, no bool
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "setup [--yes | --no]",
		Short: "Let agents report what they do and learn to drive sessions, or not",
		Long: `Let agents report what they do, through hooks in their own settings, and learn to
drive sessions, from a skill in their skill folders. At a terminal it shows which
files would change and asks; --yes and --no answer without one. Some agents run a
hook only once you have said that you trust it: --yes says so of these. --no takes
out again what --yes put there, and nothing else; termio sessions answers either way.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case yes && no:
				return usage(cmd, api.BadRequest, "--yes and --no are two answers; give one")
			case !yes && !no && (a.json || !isTerminal(a.In)):
				return usage(cmd, api.BadRequest, "setup asks at a terminal only; answer with --yes or --no")
			}
			c, err := a.dial(cmd.Context(), true)
			if err != nil {
				return err
			}
			return a.setup(cmd.Context(), c, yes, no)
		},
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "put the hooks and the skill into the installed agents' files")
	cmd.Flags().BoolVar(&no, "no", false, "leave agents' files alone, without what termio put there")
	return cmd
}

// setup asks if nobody has answered, and does what was answered.
func (a *App) setup(ctx context.Context, c *client.Client, yes, no bool) error {
	trust := &yes
	if !yes && !no {
		agents, err := c.Agents(ctx)
		if err != nil {
			return err
		}
		a.setupQuestion(agents.Agents)
		word, err := a.ask("Change them? yes, no, or Enter to decide later: ")
		if err != nil {
			return err
		}
		if yes, no = word == "yes" || word == "y", word == "no" || word == "n"; !yes && !no {
			fmt.Fprintln(a.Err, "nothing was changed")
			return nil
		}
		if trust, err = a.trustQuestion(agents.Agents, yes); err != nil {
			return err
		}
	}
	change, err := setupChange(ctx, c, yes, trust)
	if err != nil {
		return err
	}
	done, err := c.Set(ctx, change)
	if err != nil {
		return err
	}
	now, err := c.Agents(ctx)
	if err != nil {
		return err
	}
	return a.printSetup(setupReply{SettingsReply: done, Agents: standings(now.Agents)}, yes)
}

// setupQuestion shows what a yes would touch.
func (a *App) setupQuestion(agents []api.AgentInfo) {
	fmt.Fprint(a.Err, `Hooks in an agent's own settings tell termio at once when it works, is done or
needs you. A skill teaches it to drive sessions. termio setup --no takes exactly
that out again. These files would be changed:
`)
	var rows [][]string
	for _, s := range standings(agents) {
		if s.HooksFile != "" {
			rows = append(rows, []string{"  " + clean(s.Name), "hooks", clean(a.homely(s.HooksFile))})
		}
		if s.SkillFile != "" {
			rows = append(rows, []string{"  " + clean(s.Name), "skill", clean(a.homely(s.SkillFile))})
		}
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.Err, "  none now, for no agent is installed; later ones get theirs when the daemon starts")
		return
	}
	table(a.Err, 0, nil, rows, func(_, _ int, cell string) string { return cell })
}

// trustQuestion asks whether agents that want to know may be told that the person
// trusts these hooks; nil is for them to ask themselves.
func (a *App) trustQuestion(agents []api.AgentInfo, yes bool) (*bool, error) {
	var names, files []string
	for _, s := range standings(agents) {
		if s.TrustFile != "" {
			names, files = append(names, clean(s.Name)), append(files, clean(a.homely(s.TrustFile)))
		}
	}
	if !yes || len(names) == 0 {
		return nil, nil
	}
	word, err := a.ask(fmt.Sprintf(`%s runs a hook only once you have said that you trust it. Say so of these, in
%s? yes, or Enter to be asked by the agent itself at its next start: `, strings.Join(names, " and "), strings.Join(files, " and ")))
	if err != nil || word != "yes" && word != "y" {
		return nil, err
	}
	return &yes, nil
}

// ask asks the person a question and gives the answer in lower case; "" is
// Enter, or the end of what can be read.
func (a *App) ask(question string) (string, error) {
	fmt.Fprint(a.Err, question)
	line, err := bufio.NewReader(io.LimitReader(a.In, 4096)).ReadString('\n')
	if err == io.EOF {
		fmt.Fprintln(a.Err)
	} else if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.ToLower(strings.TrimSpace(line)), nil
}

// setupChange is what an answer sets. A no forgets that the skill was wanted, so
// that termio sessions goes on answering; that somebody switched it off stays.
func setupChange(ctx context.Context, c *client.Client, yes bool, trust *bool) (api.SettingsChange, error) {
	change := api.SettingsChange{Settings: api.Settings{LiveStatus: &yes}}
	if yes {
		change.SessionControl, change.HookTrust = &yes, trust
		return change, nil
	}
	change.Unset = []string{"hook_trust"}
	was, err := c.Settings(ctx)
	if on := was.Settings.SessionControl; err == nil && (on == nil || *on) {
		change.Unset = append(change.Unset, "session_control")
	}
	return change, err
}

// A standing is one agent's part of a setup's reply.
type standing struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Hooks     string `json:"hooks"` // none, off, on, stale or an error's text
	HooksFile string `json:"hooks_file,omitempty"`
	Skill     string `json:"skill"`
	SkillFile string `json:"skill_file,omitempty"`
	Trust     string `json:"trust,omitempty"` // as Hooks; absent where the agent asks for none
	TrustFile string `json:"trust_file,omitempty"`
}

// standings are the installed agents that have files to change.
func standings(agents []api.AgentInfo) []standing {
	all := []standing{}
	for _, g := range agents {
		if g.Installed && (g.HooksFile != "" || g.SkillFile != "") {
			all = append(all, standing{g.ID, g.Name, g.Hooks, g.HooksFile, g.Skill, g.SkillFile, g.Trust, g.TrustFile})
		}
	}
	return all
}

// setupReply answers setup: the settings as they are now and what was done,
// then how each agent stands.
type setupReply struct {
	api.SettingsReply
	Agents []standing `json:"agents"`
	Failed int        `json:"failed"` // agents whose files are not as answered
}

// printSetup tells what was done. Files that are not as was answered fail the
// command; the warnings say why.
func (a *App) printSetup(v setupReply, yes bool) error {
	want := integrate.Off
	if yes {
		want = integrate.On
	}
	as := func(state string) bool { return state == string(want) || state == string(integrate.None) }
	for _, s := range v.Agents {
		if !as(s.Hooks) || !as(s.Skill) {
			v.Failed++
		}
	}
	a.print(v, func(w io.Writer) {
		for _, line := range v.Done {
			fmt.Fprintln(w, clean(line))
		}
		switch {
		case len(v.Done) > 0 || v.Failed > 0:
		case len(v.Agents) == 0:
			fmt.Fprintln(w, "saved; no agent with hooks is installed now, and later ones get theirs when the daemon starts")
		case yes:
			fmt.Fprintln(w, "saved; hooks and skill were in place already")
		default:
			fmt.Fprintln(w, "saved; agents' files are left alone")
		}
	})
	a.warn(v.Warnings)
	if v.Failed > 0 {
		return errPrinted
	}
	return nil
}

// homely spells a path for people, with ~ for their own folder.
func (a *App) homely(path string) string {
	env, err := a.env()
	if rest, ok := strings.CutPrefix(path, env.UserHome+"/"); ok && err == nil && env.UserHome != "" {
		return "~/" + rest
	}
	return path
}
