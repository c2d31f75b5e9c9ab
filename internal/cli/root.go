package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/config"
)

// A branch is a command right under the root. It is built when it is wanted, for
// each call pays for what is built.
type branch struct {
	name, group string
	build       func() *cobra.Command
}

// The groups of the root's help.
var groups = []*cobra.Group{
	{ID: "work", Title: "work:"}, {ID: "agents", Title: "agents and hooks:"}, {ID: "self", Title: "termio itself:"},
}

func (a *App) branches() []branch {
	return []branch{
		{"open", "work", a.openCmd},
		{"sessions", "work", a.sessionsCmd},
		{"attach", "work", a.attachCmd},
		{sitCommand, "work", a.sitCmd},
		{faceCommand, "work", a.faceCmd},
		{"notify", "work", a.notifyCmd},
		{"demo", "work", a.demoCmd},
		{"agents", "agents", a.agentsCmd},
		{"agent", "agents", a.agentCmd},
		{"setup", "agents", a.setupCmd},
		{"skill", "agents", a.skillCmd},
		{"demo-agent", "agents", a.demoAgentCmd},
		{"settings", "self", a.settingsCmd},
		{"daemon", "self", a.daemonCmd},
		{"doctor", "self", a.doctorCmd},
		{"completion", "self", a.completionCmd},
		{"man", "self", a.manCmd},
		{"version", "self", a.versionCmd},
		{"uninstall", "self", a.uninstallCmd},
	}
}

// rootCmd is the tree: all of it, or only the branch that the arguments begin with.
func (a *App) rootCmd(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "termio [DIR]",
		Short: "Run many AI coding agents side by side, in real terminals that outlive every window",
		Long: `termio keeps agents and commands running in real terminals, each a session that
you, your scripts and other agents can read, write, wait for and watch.

  termio                          open this folder in the interface: who works, who is done, who needs you
  termio sessions spawn "…"       start an agent on a prompt
  termio sessions list            who is here, and what they are doing
  termio attach <session>         sit down at its terminal`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       config.Version,
		RunE:          a.open,

		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	a.jsonFlag(root)
	root.SetVersionTemplate("termio {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(cmd, api.BadRequest, "%s", flagFault(err))
	})
	root.SetHelpFunc(a.help)
	root.SetHelpCommand(a.helpCmd(root))
	root.AddGroup(groups...)
	all := a.branches()
	for _, b := range all {
		// The manual is written from the whole tree.
		if len(args) > 0 && args[0] == b.name && b.name != "man" {
			all = []branch{b}
			break
		}
	}
	for _, b := range all {
		cmd := b.build()
		cmd.GroupID = b.group
		root.AddCommand(cmd)
	}
	a.completions(root)
	return root
}

// jsonFlag gives a command its --json.
func (a *App) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

// helpCmd is `termio help`, which knows an unknown topic when it sees one.
func (a *App) helpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "Tell more of a command",
		GroupID: "self",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usage(root, api.BadOp, "no command %q; termio --help lists them", joined(args))
			}
			return cmd.Help()
		},
	}
}

// versionCmd is `termio version`.
func (a *App) versionCmd() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "version",
		Short: "Print the program's version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			a.print(api.VersionReply{Head: api.OKHead(), Version: config.Version, API: api.SchemaVersion},
				func(w io.Writer) { fmt.Fprintln(w, "termio", config.Version) })
			return nil
		},
	})
}

// openCmd is `termio open`; `termio DIR` is the same.
func (a *App) openCmd() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "open [DIR or LINK]",
		Short: "Open a folder as a project, or focus a session's link",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.open,
	})
}

// open opens the folder or the link that is named, or else the current folder.
func (a *App) open(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage(cmd, api.BadOp, "no command %q; termio --help lists them, and one folder is opened at a time", args[0])
	}
	what := "."
	if len(args) == 1 {
		what = args[0]
	}
	if strings.HasPrefix(what, "termio://") {
		if !strings.HasPrefix(what, api.LinkPrefix) {
			return api.NewError(api.NotFound, fmt.Sprintf("%s is no link of a session; those look like %s<id>", what, api.LinkPrefix))
		}
		if a.showsInterface() {
			return a.show(what)
		}
		return a.openProject(cmd, api.OpenRequest{Link: what})
	}
	root, err := folder(what)
	if err != nil {
		return err
	}
	return a.openProject(cmd, api.OpenRequest{Path: root})
}

// openProject asks the daemon to open, and shows what is there.
func (a *App) openProject(cmd *cobra.Command, req api.OpenRequest) error {
	c, err := a.dial(cmd.Context(), true)
	if err != nil {
		return err
	}
	v, err := c.Open(cmd.Context(), req)
	if err != nil {
		return err
	}
	if a.showsInterface() {
		return a.show(v.Root)
	}
	a.print(v, func(w io.Writer) {
		switch {
		case v.Focused != "":
			fmt.Fprintln(w, "focused", v.Focused)
		case v.Created:
			fmt.Fprintf(w, "opened %s as the project %s\n", clean(v.Root), clean(v.Project))
		default:
			fmt.Fprintf(w, "opened the project %s (%s)\n", clean(v.Project), clean(v.Root))
		}
	})
	if a.json || v.Root == "" {
		return nil
	}
	return a.listAt(cmd, v.Root)
}

// listAt shows a project's sessions below what was opened.
func (a *App) listAt(cmd *cobra.Command, root string) error {
	env, err := a.env()
	if err != nil {
		return err
	}
	if env.Session != "" {
		return nil // a session sees its own project, whatever it opens
	}
	c, err := client.Dial(cmd.Context(), env.Paths, client.Options{Cwd: root, Timeout: env.CLITimeout})
	if err != nil {
		return err
	}
	v, err := c.List(cmd.Context(), client.ListOptions{})
	if err != nil {
		return err
	}
	a.printList(v, false)
	return nil
}

// folder makes a path absolute and free of links, so that a project has one name.
func folder(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		if os.IsNotExist(err) && !strings.ContainsRune(path, filepath.Separator) {
			return "", api.NewError(api.BadRequest, fmt.Sprintf("there is no folder %q here and no command of that name; termio --help lists the commands", path))
		}
		return "", api.NewError(api.BadRequest, fmt.Sprintf("cannot open %s: %v", path, rootCause(err)))
	}
	fi, err := os.Stat(abs)
	if err != nil {
		return "", api.NewError(api.BadRequest, fmt.Sprintf("cannot open %s: %v", path, rootCause(err)))
	}
	if !fi.IsDir() {
		return "", api.NewError(api.BadRequest, fmt.Sprintf("%s is not a folder; name the folder that holds it", path))
	}
	return abs, nil
}
