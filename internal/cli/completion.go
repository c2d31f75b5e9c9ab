package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/config"
)

// completionPatience bounds how long a Tab waits for the daemon.
const completionPatience = 300 * time.Millisecond

// completionShells are the shells that there are completions for.
var completionShells = []string{"bash", "zsh", "fish"}

// completionCmd is `termio completion`.
func (a *App) completionCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion <bash|zsh|fish|install>",
		Short: "Print or install completions for a shell",
		Long: `Print the completions for a shell, or install them for the person's own: install
puts them where the shell finds them and says what else it needs.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usage(cmd, api.BadOp, "no verb %q; termio completion has bash, fish, install, zsh", args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, shell := range completionShells {
		cmd.AddCommand(&cobra.Command{
			Use:   shell,
			Short: "Print the completions for " + shell,
			Args:  noArgs,
			RunE:  func(cmd *cobra.Command, _ []string) error { return writeCompletion(cmd.Root(), a.out(), shell) },
		})
	}
	cmd.AddCommand(&cobra.Command{
		Use:       "install [bash|zsh|fish]",
		Short:     "Install the completions for a shell (default: your own)",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: completionShells,
		RunE: func(cmd *cobra.Command, args []string) error {
			env, err := a.env()
			if err != nil {
				return err
			}
			shell := filepath.Base(env.Shell)
			if len(args) == 1 {
				shell = args[0]
			}
			return a.installCompletion(cmd, env, shell)
		},
	})
	return cmd
}

// writeCompletion writes a shell's completions.
func writeCompletion(root *cobra.Command, w io.Writer, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	}
	return api.NewError(api.BadRequest, fmt.Sprintf("there are no completions for the shell %q; there are for bash, zsh and fish", shell))
}

// completionFile is where a shell looks for completions by itself, and what it
// needs to be told so that it does.
func completionFile(env config.Env, shell string) (file, also string) {
	data := env.Get("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(env.UserHome, ".local", "share")
	}
	conf := env.Get("XDG_CONFIG_HOME")
	if conf == "" {
		conf = filepath.Join(env.UserHome, ".config")
	}
	switch shell {
	case "bash":
		return filepath.Join(data, "bash-completion", "completions", "termio"), "it needs the package bash-completion"
	case "zsh":
		dir := filepath.Join(data, "zsh", "site-functions")
		return filepath.Join(dir, "_termio"), "it needs this in ~/.zshrc, before compinit: fpath+=(" + dir + ")"
	default:
		return filepath.Join(conf, "fish", "completions", "termio.fish"), ""
	}
}

func (a *App) installCompletion(cmd *cobra.Command, env config.Env, shell string) error {
	var script bytes.Buffer
	if err := writeCompletion(cmd.Root(), &script, shell); err != nil {
		return err
	}
	if env.UserHome == "" {
		return api.NewError(api.BadRequest, "HOME is not set, so there is no place for completions; termio completion "+shell+" prints them")
	}
	file, also := completionFile(env, shell)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("install completions: %w", err)
	}
	if _, err := config.EditFile(file, 0o644, func([]byte) ([]byte, error) { return script.Bytes(), nil }); err != nil {
		return fmt.Errorf("install completions: %w", err)
	}
	fmt.Fprintln(a.out(), "installed", file)
	if also != "" {
		fmt.Fprintln(a.Err, also)
	}
	return nil
}

// asking calls the daemon for a completion: quickly, and in silence if there is none.
func (a *App) asking(cmd *cobra.Command, ask func(context.Context, *client.Client) error) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	if c, err := a.dial(ctx, false); err == nil {
		_ = ask(ctx, c)
	}
}

// completeTargets completes the sessions of the caller's project by id, with
// their titles beside them.
func (a *App) completeTargets(o client.ListOptions, many bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (out []cobra.Completion, d cobra.ShellCompDirective) {
		if len(args) > 0 && !many {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.asking(cmd, func(ctx context.Context, c *client.Client) error {
			v, err := c.List(ctx, o)
			for _, s := range v.Sessions {
				if o.Closed && s.Status != api.Closed {
					continue // resume takes those that have ended
				}
				out = append(out, cobra.CompletionWithDesc(s.ID, clean(s.Title)+" ["+string(s.Status)+"]"))
			}
			return err
		})
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeAgents completes the installed agents' ids.
func (a *App) completeAgents(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, d cobra.ShellCompDirective) {
	a.asking(cmd, func(ctx context.Context, c *client.Client) error {
		v, err := c.Agents(ctx)
		for _, ag := range v.Agents {
			if ag.Installed {
				out = append(out, cobra.CompletionWithDesc(clean(ag.ID), clean(ag.Name)))
			}
		}
		return err
	})
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeHistory completes the ids of past conversations.
func (a *App) completeHistory(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, d cobra.ShellCompDirective) {
	a.asking(cmd, func(ctx context.Context, c *client.Client) error {
		v, err := c.History(ctx, client.HistoryOptions{Agent: cmd.Flag("agent").Value.String()})
		for _, past := range v.Conversations {
			if !past.Open {
				out = append(out, cobra.CompletionWithDesc(clean(past.ID), clean(past.AgentID+": "+past.Title)))
			}
		}
		return err
	})
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeStates completes a list of states by commas.
func completeStates(_ *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	head := toComplete[:strings.LastIndexByte(toComplete, ',')+1]
	var out []cobra.Completion
	for _, s := range []api.Status{api.Working, api.Idle, api.Done, api.NeedsYou, api.Stalled, api.Closed} {
		out = append(out, head+string(s))
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeSettings completes a setting's name, then its value.
func (a *App) completeSettings(cmd *cobra.Command, args []string, _ string) (out []cobra.Completion, d cobra.ShellCompDirective) {
	switch {
	case len(args) == 0:
		for _, s := range settings {
			out = append(out, cobra.CompletionWithDesc(s.name, s.help))
		}
	case len(args) == 1 && cmd.Name() == "set":
		switch s, _ := settingOf(args[0]); {
		case s.name == "default-agent":
			return a.completeAgents(cmd, nil, "")
		case s.field < 3 || s.name == "bypass-permissions":
			out = []cobra.Completion{"on", "off"}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// noFiles says that a flag's or a command's words are no files.
func noFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// folders says that a flag's value is a folder.
func folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completions attaches to the tree what its words and flags complete to.
func (a *App) completions(root *cobra.Command) {
	live, closed := client.ListOptions{}, client.ListOptions{Closed: true}
	words := map[string]cobra.CompletionFunc{
		"attach": a.completeTargets(live, false), "sessions send": a.completeTargets(live, false),
		"sessions read": a.completeTargets(live, false), "sessions focus": a.completeTargets(live, false),
		"sessions explain": a.completeTargets(live, false), "sessions close": a.completeTargets(live, true),
		"sessions resume": a.completeTargets(closed, false),
		"sessions spawn":  noFiles, "sessions list": noFiles, "sessions watch": noFiles, "notify": noFiles,
		"settings get": a.completeSettings, "settings set": a.completeSettings, "settings unset": a.completeSettings, "setup": noFiles, "uninstall": noFiles, "doctor": noFiles, "daemon logs": noFiles, "skill": noFiles, "open": folders, "": folders,
	}
	keys := []cobra.Completion{
		"enter", "escape", "tab", "backspace", "delete", "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "ctrl-c", "ctrl-d", "shift-tab",
	}
	flags := map[string]map[string]cobra.CompletionFunc{
		"sessions spawn": {"agent": a.completeAgents, "cwd": folders, "resume": a.completeHistory, "worktree": noFiles, "timeout": noFiles},
		"sessions run":   {"cwd": folders, "timeout": noFiles},
		"sessions watch": {"state": completeStates, "since": noFiles},
		"sessions send":  {"key": cobra.FixedCompletions(keys, cobra.ShellCompDirectiveNoFileComp), "timeout": noFiles},
		"sessions read":  {"lines": noFiles},
		"notify":         {"title": noFiles},
		"agents history": {"agent": a.completeAgents, "project": folders, "limit": noFiles},
	}
	var walk func(cmd *cobra.Command, path string)
	walk = func(cmd *cobra.Command, path string) {
		if f, ok := words[path]; ok {
			cmd.ValidArgsFunction = f
		}
		for name, f := range flags[path] {
			_ = cmd.RegisterFlagCompletionFunc(name, f) // fails only for a flag that is not there
		}
		for _, c := range cmd.Commands() {
			walk(c, strings.TrimPrefix(path+" "+c.Name(), " "))
		}
	}
	walk(root, "")
}
