package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/client"
)

// targetHelp stands in the help of every verb that takes a session.
const targetHelp = `
<session> is a termio://session/… link, an id, any unique start of an id, or a
session's title. termio sessions list shows them.`

// waitHelp stands in the help of every verb that can wait.
const waitHelp = `
With --wait the command ends when this turn has: exit 0 when it settled (the
status says how; needs-you carries the question), 3 when --timeout ran out first
and the session goes on, 1 on an error.`

// sessionsCmd is `termio sessions`, which alone is a list.
func (a *App) sessionsCmd() *cobra.Command {
	list := a.listCmd()
	cmd := &cobra.Command{
		Use:     "sessions",
		Aliases: []string{"session"},
		Short:   "See and drive the sessions of this project",
		Long: `See and drive the sessions of this project: the agents and commands that run in
it. Each verb takes --json; errors are then one object with a stable code.
termio sessions alone is termio sessions list.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usage(cmd, api.BadOp, "no verb %q; termio sessions has %s", args[0], joinedVerbs(cmd))
		},
		RunE: list.RunE,
	}
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(list, a.watchCmd(), a.spawnCmd(), a.runCmd(), a.sendCmd(), a.readCmd(),
		a.closeCmd(), a.focusCmd(), a.resumeCmd(), a.explainCmd())
	return cmd
}

// joinedVerbs lists a command's verbs.
func joinedVerbs(cmd *cobra.Command) string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return strings.Join(names, ", ")
}

// noArgs refuses positionals.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, api.BadRequest, "%s takes no argument, and %q is one", cmd.CommandPath(), args[0])
	}
	return nil
}

// oneTarget wants one session and nothing else.
func oneTarget(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || args[0] == "":
		return usage(cmd, api.NoTarget, "%s needs a session; termio sessions list shows them", cmd.CommandPath())
	case len(args) > 1:
		return usage(cmd, api.BadRequest, "%s takes one session, and %q is another argument; a title with spaces needs quotes", cmd.CommandPath(), args[1])
	}
	return nil
}

// waitFlags are --wait and --timeout.
type waitFlags struct {
	wait    bool
	timeout string
}

func (f *waitFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait for the outcome of this turn")
	cmd.Flags().StringVar(&f.timeout, "timeout", "", "with --wait: give up after `MS` milliseconds, or a duration such as 90s (default 300000, from 1000 to 600000)")
}

// waiting reads the flags for a request.
func (f *waitFlags) waiting(cmd *cobra.Command) (api.Waiting, error) {
	if !cmd.Flags().Changed("timeout") {
		return api.Waiting{Wait: f.wait}, nil
	}
	ms, err := parseTimeout(f.timeout)
	if err != nil {
		return api.Waiting{}, usage(cmd, api.BadRequest, "--timeout %q is neither milliseconds nor a duration such as 90s", f.timeout)
	}
	if !f.wait {
		return api.Waiting{}, usage(cmd, api.BadRequest, "--timeout goes with --wait: waiting is always explicit")
	}
	return api.Waiting{Wait: true, TimeoutMS: ms}, nil
}

// parseTimeout reads milliseconds or a Go duration and clamps what it read.
func parseTimeout(s string) (ms int64, err error) {
	ms, err = strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(s, "-"):
		ms = api.MaxTimeout.Milliseconds()
	case err != nil:
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, err
		}
		ms = d.Milliseconds()
		if d < 0 {
			ms = -1
		}
	}
	if ms < 0 {
		return 0, strconv.ErrRange
	}
	return api.ClampTimeout(max(ms, 1)).Milliseconds(), nil
}

// absolute is a --cwd as the daemon wants it.
func absolute(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", api.NewError(api.BadRequest, fmt.Sprintf("cannot find the folder %s: %v", dir, err))
	}
	return abs, nil
}

func (a *App) listCmd() *cobra.Command {
	var o client.ListOptions
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "List the sessions and what they are doing",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.dial(cmd.Context(), true)
			if err != nil {
				return err
			}
			v, err := c.List(cmd.Context(), o)
			if err != nil {
				return err
			}
			if a.json {
				a.printJSON(v)
			} else {
				a.printList(v, o.All)
			}
			return nil
		},
	})
	cmd.Flags().BoolVar(&o.All, "all", false, "of every project, not only of this one")
	cmd.Flags().BoolVar(&o.Closed, "closed", false, "also what has ended, and why")
	return cmd
}

func (a *App) spawnCmd() *cobra.Command {
	var (
		req      api.SpawnRequest
		worktree string
		wait     waitFlags
	)
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "spawn [flags] [--] <prompt>",
		Short: "Start an agent on a prompt",
		Long: `Start an agent in a session of its own and give it a prompt. The command ends as
soon as the session exists; the prompt is typed when the agent is ready. The link
alone goes to standard output. A prompt of - reads standard input. --resume takes up
a past conversation, which termio agents history lists, in the folder that it was
begun in; a prompt is then not needed.
` + waitHelp,
		Example: `  link=$(termio sessions spawn "fix the flaky test")
  termio sessions spawn --agent codex --worktree=fix --wait --timeout 10m - <prompt.md`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if req.Waiting, err = wait.waiting(cmd); err != nil {
				return err
			}
			if cmd.Flags().Changed("worktree") {
				branch := strings.TrimSpace(worktree)
				req.Worktree = &branch
			}
			if req.Prompt, err = a.text(args); err != nil {
				return err
			}
			if strings.TrimSpace(req.Prompt) == "" && req.Resume == "" {
				return usage(cmd, api.NoText, "spawn needs a prompt: what should the agent do?")
			}
			if req.Cwd, err = absolute(req.Cwd); err != nil {
				return err
			}
			return a.start(cmd.Context(), req.Wait, "prompt",
				func(ctx context.Context, c *client.Client) (api.StartReply, error) { return c.Spawn(ctx, req) },
				func(ctx context.Context, c *client.Client) (api.WaitReply, error) { return c.SpawnWait(ctx, req) })
		},
	})
	f := cmd.Flags()
	f.StringVar(&req.Agent, "agent", "", "which agent: an `ID` or name of termio agents list (default: the caller's own kind, else the default agent)")
	f.StringVar(&req.Cwd, "cwd", "", "start it in the folder `DIR`")
	f.StringVar(&worktree, "worktree", "", "give it a git worktree of its own, on a new branch; =`BRANCH` names it")
	f.Lookup("worktree").NoOptDefVal = " "
	f.StringVar(&req.Resume, "resume", "", "go on with the past conversation `ID` of termio agents history")
	wait.register(cmd)
	return cmd
}

func (a *App) runCmd() *cobra.Command {
	var (
		req  api.RunRequest
		wait waitFlags
	)
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "run [flags] [--] <command>",
		Short: "Start a terminal and enter a shell command in it",
		Long: `Start a login shell in a session of its own and enter a command: a server, a
test run. The link alone goes to standard output; the shell stays when the
command has ended. Its screen is its result: termio sessions read. A command of -
reads standard input.
` + waitHelp,
		Example: `  termio sessions run "npm test" --wait
  termio sessions run -- ls -l`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if req.Waiting, err = wait.waiting(cmd); err != nil {
				return err
			}
			if req.Command, err = a.text(args); err != nil {
				return err
			}
			if strings.TrimSpace(req.Command) == "" {
				return usage(cmd, api.NoText, "run needs a command: what should the shell run?")
			}
			if req.Cwd, err = absolute(req.Cwd); err != nil {
				return err
			}
			return a.start(cmd.Context(), req.Wait, "command",
				func(ctx context.Context, c *client.Client) (api.StartReply, error) { return c.Run(ctx, req) },
				func(ctx context.Context, c *client.Client) (api.WaitReply, error) { return c.RunWait(ctx, req) })
		},
	})
	cmd.Flags().StringVar(&req.Cwd, "cwd", "", "start it in the folder `DIR`")
	wait.register(cmd)
	return cmd
}

// start starts a session, with a wait or without, and prints what came of it.
func (a *App) start(ctx context.Context, wait bool, payload string,
	start func(context.Context, *client.Client) (api.StartReply, error),
	outcome func(context.Context, *client.Client) (api.WaitReply, error),
) error {
	c, err := a.dial(ctx, true)
	if err != nil {
		return err
	}
	if wait {
		v, err := outcome(ctx, c)
		if err != nil {
			return err
		}
		if !a.json {
			fmt.Fprintln(a.out(), v.Target)
		}
		return a.finishWait(v, a.Err)
	}
	v, err := start(ctx, c)
	if err != nil {
		return err
	}
	a.printStart(v, payload)
	return nil
}

func (a *App) sendCmd() *cobra.Command {
	var (
		req  api.SendRequest
		wait waitFlags
	)
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "send <session> [flags] [--] [text]",
		Short: "Type into a session: a prompt, an answer, keys",
		Long: `Type text into a session and submit it with one real Return: a prompt, or the
answer to what it asks. Keys follow the text in their order; any --key leaves the
Return out. A text of - reads standard input. An open permission dialog takes only
an answer that fits it.
` + targetHelp + `
` + waitHelp,
		Example: `  termio sessions send 1a2b "run the tests" --wait
  termio sessions send "Fix the flaky test" yes
  termio sessions send 1a2b --key ctrl-c`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if req.Waiting, err = wait.waiting(cmd); err != nil {
				return err
			}
			if len(args) == 0 || args[0] == "" {
				return usage(cmd, api.NoTarget, "send needs a session, then the text; termio sessions list shows the sessions")
			}
			if req.Text, err = a.text(args[1:]); err != nil {
				return err
			}
			if req.Text == "" && len(req.Keys) == 0 {
				return usage(cmd, api.NoText, "send needs a text or a --key")
			}
			return a.send(cmd.Context(), args[0], req)
		},
	})
	f := cmd.Flags()
	f.StringArrayVar(&req.Keys, "key", nil, "press the key `NAME` after the text, such as enter, up, ctrl-c or f5; may be given several times")
	f.BoolVar(&req.NoEnter, "no-enter", false, "type, but do not press Return")
	f.BoolVar(&req.Answer, "answer", false, "insist that the text is the answer to the open dialog")
	f.BoolVar(&req.Force, "force", false, "also when somebody's draft is in the composer")
	wait.register(cmd)
	return cmd
}

func (a *App) send(ctx context.Context, target string, req api.SendRequest) error {
	c, err := a.dial(ctx, true)
	if err != nil {
		return err
	}
	if req.Wait {
		v, err := c.SendWait(ctx, target, req)
		if err != nil {
			return err
		}
		return a.finishWait(v, a.out())
	}
	v, err := c.Send(ctx, target, req)
	if err != nil {
		return err
	}
	a.printSend(v)
	return nil
}

func (a *App) readCmd() *cobra.Command {
	var o client.ReadOptions
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "read <session>",
		Short: "Print what is on a session's screen",
		Long:  "Print what is on a session's screen, without bringing it to the front.\n" + targetHelp,
		Args:  oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Lines < 0 || cmd.Flags().Changed("lines") && o.Lines == 0 {
				return usage(cmd, api.BadRequest, "--lines %d: give how many of the last lines to print, 1 or more", o.Lines)
			}
			c, err := a.dial(cmd.Context(), true)
			if err != nil {
				return err
			}
			v, err := c.Read(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			a.printRead(v)
			return nil
		},
	})
	cmd.Flags().IntVar(&o.Lines, "lines", 0, "only the last `N` lines")
	cmd.Flags().BoolVar(&o.Scrollback, "scrollback", false, "with what has scrolled off the screen")
	return cmd
}

func (a *App) closeCmd() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "close <session>…",
		Short: "End sessions",
		Long: `End sessions: each process gets SIGHUP, then SIGTERM, then SIGKILL. All are
tried, and the command fails if any could not be closed.
` + targetHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return oneTarget(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd.Context(), true)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				v, err := c.Close(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				a.printClose(v)
				return nil
			}
			return a.closeAll(cmd.Context(), c, args)
		},
	})
}

// closeAll closes several sessions, with a reply each; one that fails stops
// none of the others.
func (a *App) closeAll(ctx context.Context, c *client.Client, targets []string) error {
	var failed error
	for _, target := range targets {
		v, err := c.Close(ctx, target)
		if err != nil {
			a.PrintError(err)
			failed = errPrinted
			continue
		}
		a.printClose(v)
	}
	return failed
}

func (a *App) focusCmd() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "focus <session>",
		Short: "Bring a session to the front of every open interface",
		Long:  "Bring a session to the front of every open interface.\n" + targetHelp,
		Args:  oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd.Context(), true)
			if err != nil {
				return err
			}
			v, err := c.Focus(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			a.printFocus(v)
			return nil
		},
	})
}

func (a *App) resumeCmd() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "resume <session>",
		Short: "Start a closed session again: the same link, the same conversation",
		Long: `Start a closed session again: a new process under the same link, in the same
conversation. It is resumed exactly or, where its agent kept nothing, started
fresh, and the reply says which. termio sessions list --closed shows what can be
resumed.
` + targetHelp,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd.Context(), true)
			if err != nil {
				return err
			}
			v, err := c.Resume(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			a.printStart(v, "")
			return nil
		},
	})
}

func (a *App) explainCmd() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "explain <session>",
		Short: "Tell the evidence behind a session's status",
		Long:  "Tell every channel's last word on a session's status, which one counts, and why.\n" + targetHelp,
		Args:  oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.dial(cmd.Context(), true)
			if err != nil {
				return err
			}
			v, err := c.Explain(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			a.printExplain(v, time.Now())
			return nil
		},
	})
}
