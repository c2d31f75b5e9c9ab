package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/config"
	"termio/internal/integrate"
)

// uninstallCmd is `termio uninstall`.
func (a *App) uninstallCmd() *cobra.Command {
	var yes, purge bool
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "uninstall",
		Short: "Take everything of termio out of other programs' files, and stop the daemon",
		Long: `End every session, stop the daemon, and take everything of termio out of other
programs' files: hooks, the skill, the link on the PATH, completions. What was
there before comes back. termio's own folder stays, so that sessions can be resumed
after another install; --purge removes that too, but for work trees, which hold your
work. At a terminal it asks first; elsewhere it needs --yes.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env, err := a.env()
			if err != nil {
				return err
			}
			if err := a.mayUninstall(cmd, env, yes, purge); err != nil {
				return err
			}
			u := uninstall{app: a, env: env, reply: uninstallReply{Head: api.OKHead(), Done: []string{}}}
			if err := u.run(cmd.Context(), purge); err != nil {
				return err
			}
			a.printUninstall(u.reply)
			if len(u.reply.Warnings) > 0 {
				return errPrinted
			}
			return nil
		},
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove termio's own folder too: sessions, settings, logs")
	return cmd
}

// mayUninstall asks the person, or wants the flag that answers for them.
func (a *App) mayUninstall(cmd *cobra.Command, env config.Env, yes, purge bool) error {
	switch {
	case env.Session != "":
		return api.NewError(api.BadRequest, "this is a session of termio, which uninstall would end half-way: run it in a terminal outside of termio")
	case purge && isAbove(env.Home, env.UserHome):
		return api.NewError(api.BadRequest, fmt.Sprintf("TERMIO_HOME is %s, where more than termio lives: --purge removes nothing there; run it without", env.Home))
	case yes:
		return nil
	case a.json || !isTerminal(a.In):
		return usage(cmd, api.BadRequest, "uninstall asks at a terminal only; --yes answers")
	}
	what := "Every session ends, the daemon stops, and the hooks, the skill, the link and the\ncompletions of termio go."
	if purge {
		what += " So does all of " + a.homely(env.Home) + " but work trees:\nsessions cannot be resumed any more."
	}
	fmt.Fprintln(a.Err, what)
	word, err := a.ask("Go on? yes, or Enter to leave everything as it is: ")
	if err == nil && word != "yes" && word != "y" {
		fmt.Fprintln(a.Err, "nothing was changed")
		return errPrinted
	}
	return err
}

// isAbove reports whether a folder is another one or holds it.
func isAbove(dir, other string) bool {
	rel, err := filepath.Rel(dir, other)
	return err == nil && other != "" && rel != ".." && !strings.HasPrefix(rel, "../")
}

// uninstallReply answers uninstall.
type uninstallReply struct {
	api.Head
	Done     []string `json:"done"`               // what was done, for people
	Warnings []string `json:"warnings,omitempty"` // what could not be done; then nothing of termio's own is removed
	Stopped  bool     `json:"stopped"`            // a daemon was running
	Closed   int      `json:"closed"`             // sessions that were ended
	Kept     []string `json:"kept,omitempty"`     // folders that stay
}

// An uninstall is one run of it.
type uninstall struct {
	app   *App
	env   config.Env
	reply uninstallReply
}

func (u *uninstall) did(lines ...string) { u.reply.Done = append(u.reply.Done, lines...) }

func (u *uninstall) warn(lines ...string) {
	for _, line := range lines {
		if !slices.Contains(u.reply.Warnings, line) {
			u.reply.Warnings = append(u.reply.Warnings, line)
		}
	}
}

// run takes everything out. The daemon goes first: it knows folders that only its
// own environment names, and it must not put anything back. What it leaves, or
// all if none runs, is done here.
func (u *uninstall) run(ctx context.Context, purge bool) error {
	if !client.Absent(u.env.Paths) {
		if err := u.throughDaemon(ctx); err != nil {
			return err
		}
	}
	if err := u.unset(); err != nil {
		u.warn(err.Error())
	}
	off := new(bool)
	catalogue := agent.Load(os.DirFS(u.env.AgentsDir), nil)
	r := integrate.New(u.env).Apply(integrate.Switches{Hooks: off, Skill: off, Link: off}, catalogue.All(), func(*agent.Manifest) bool { return false })
	u.did(r.Done...)
	u.warn(r.Warnings...)
	u.completions()
	if len(u.reply.Warnings) > 0 {
		u.reply.Kept = append(u.reply.Kept, u.env.Home)
		return nil // what is left in other programs' files needs its records, and hooks their program
	}
	u.remove(u.env.StableExe)
	if !purge {
		u.reply.Kept = append(u.reply.Kept, u.env.Home)
		return nil
	}
	u.purge()
	return nil
}

// switchNames are the settings that other programs' files depend on. They are taken
// back, not switched off: whoever installs again is asked again.
var switchNames = []string{"live_status", "hook_trust", "session_control", "command_link"}

// throughDaemon has the daemon take its things out, and stops it.
func (u *uninstall) throughDaemon(ctx context.Context) error {
	c, err := u.app.dial(ctx, false)
	if err != nil {
		return err
	}
	set, err := c.Set(ctx, api.SettingsChange{Unset: switchNames})
	if err == nil {
		u.did(set.Done...)
		u.warn(set.Warnings...)
	} // settings that cannot be used are told by unset
	v, err := c.Stop(ctx)
	if err != nil {
		return err
	}
	u.reply.Stopped, u.reply.Closed = v.Stopped, v.Closed
	u.did(fmt.Sprintf("the daemon is stopped; %s ended", count(v.Closed, "session")))
	return nil
}

// unset takes the switches back in the file, so that no daemon puts anything back.
func (u *uninstall) unset() error {
	s, err := config.LoadSettings(u.env.SettingsFile)
	if err != nil {
		return err
	}
	now, err := config.UnsetSettings(s, switchNames)
	if err != nil || now == s {
		return err
	}
	return config.SaveSettings(u.env.SettingsFile, now)
}

// completions removes the completions that were installed.
func (u *uninstall) completions() {
	if u.env.UserHome == "" {
		return
	}
	for _, shell := range completionShells {
		file, _ := completionFile(u.env, shell)
		data, err := os.ReadFile(file)
		head, _, _ := strings.Cut(string(data), "\n\n")
		if err == nil && strings.Contains(head, "termio") && strings.Contains(head, "comp") {
			u.remove(file)
		}
	}
}

// remove removes a file, or an empty folder, that may not be there.
func (u *uninstall) remove(path string) {
	switch err := os.Remove(path); {
	case err == nil:
		u.did("removed " + u.app.homely(path))
	case !errors.Is(err, fs.ErrNotExist):
		u.warn(err.Error())
	}
}

// purge removes termio's own folder. What termio has not put there stays, and so
// do work trees: they hold a person's work.
func (u *uninstall) purge() {
	for _, dir := range []string{u.env.RunDir, u.env.LogDir, u.env.StateDir, u.env.DemoDir, u.env.AgentsDir} {
		if err := os.RemoveAll(dir); err != nil {
			u.warn(err.Error())
		}
	}
	if err := os.Remove(u.env.SettingsFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		u.warn(err.Error())
	}
	if !isAbove(u.env.Home, u.env.Socket) {
		_ = os.Remove(filepath.Dir(u.env.Socket)) // the short folder of a long path
	}
	for _, dir := range []string{u.env.ConfigDir, u.env.BinDir, u.env.Worktrees} {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			u.reply.Kept = append(u.reply.Kept, dir)
		}
	}
	if len(u.reply.Kept) > 0 {
		u.did("removed all of termio's own in " + u.app.homely(u.env.Home))
		return
	}
	real, err := filepath.EvalSymlinks(u.env.Home)
	if err != nil {
		return // there was none
	}
	if err := os.Remove(real); err != nil {
		u.reply.Kept = append(u.reply.Kept, u.env.Home) // something else is in it
		return
	}
	if real != u.env.Home {
		_ = os.Remove(u.env.Home) // the link to it
	}
	u.did("removed " + u.app.homely(u.env.Home))
}

func (a *App) printUninstall(v uninstallReply) {
	a.print(v, func(w io.Writer) {
		for _, line := range v.Done {
			fmt.Fprintln(w, clean(line))
		}
		if len(v.Done) == 0 && len(v.Warnings) == 0 {
			fmt.Fprintln(w, "there was nothing to take out")
		}
		for _, dir := range v.Kept {
			if _, err := os.Stat(dir); err == nil {
				fmt.Fprintf(w, "kept %s\n", clean(a.homely(dir)))
			}
		}
		if exe, err := os.Executable(); err == nil {
			if _, err := os.Stat(exe); err == nil {
				fmt.Fprintf(a.Err, "the program itself is %s; remove it as it was installed\n", clean(exe))
			}
		}
	})
	a.warn(v.Warnings)
}
