package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/config"
	"termio/internal/integrate"
)

// doctorCmd is `termio doctor`.
func (a *App) doctorCmd() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "doctor",
		Short: "Look at what is installed, what works, and what to do about the rest",
		Long: `Look at what is installed, what works, and what to do about the rest. It changes
nothing and starts nothing: without a daemon it looks at what can be seen without
one. The exit code is 0 unless there is a problem; a warning is none.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env, err := a.env()
			if err != nil {
				return err
			}
			e := examination{app: a, env: env, reply: doctorReply{Head: api.OKHead()}}
			e.examine(cmd.Context())
			a.printDoctor(e.reply)
			if e.reply.Problems > 0 {
				return errPrinted
			}
			return nil
		},
	})
}

// A grade is how bad a finding is.
type grade string

const (
	fine    grade = "ok"
	warning grade = "warning" // works, but not as well as it could
	problem grade = "problem"
)

// A finding is one thing that was looked at.
type finding struct {
	Check string `json:"check"` // what: home, socket, daemon, …
	State grade  `json:"state"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"` // what to do about it
}

// doctorReply answers doctor.
type doctorReply struct {
	api.Head
	Findings []finding `json:"findings"`
	Warnings int       `json:"warnings"`
	Problems int       `json:"problems"`
}

// An examination collects findings.
type examination struct {
	app      *App
	env      config.Env
	settings api.Settings
	reply    doctorReply
}

func (e *examination) find(check string, g grade, next, format string, args ...any) {
	switch g {
	case warning:
		e.reply.Warnings++
	case problem:
		e.reply.Problems++
	}
	e.reply.Findings = append(e.reply.Findings, finding{check, g, fmt.Sprintf(format, args...), next})
}

// examine looks at everything, from what the rest stands on upwards.
func (e *examination) examine(ctx context.Context) {
	e.find("program", fine, "", "termio %s", config.Version)
	e.home()
	agents := e.daemon(ctx)
	e.database()
	e.settingsFile()
	e.link()
	if agents == nil {
		v := localAgents(e.env)
		agents = &v
	}
	e.agents(*agents)
	e.git(ctx)
	e.terminal()
	e.log()
}

// home looks at termio's folder and who else may reach into it.
func (e *examination) home() {
	if _, err := os.Stat(e.env.Home); os.IsNotExist(err) {
		e.find("home", fine, "", "%s is not there yet; the first command that needs it makes it", e.env.Home)
		return
	}
	bad := e.env.CheckDirs()
	for _, err := range bad {
		e.find("home", problem, "", "%v", err)
	}
	if len(bad) == 0 {
		e.find("home", fine, "", "%s, open to nobody else", e.env.Home)
	}
}

// daemon looks at the daemon and asks it for its agents; nil if it gives none.
func (e *examination) daemon(ctx context.Context) *api.AgentsReply {
	if nobodyListens(e.env.Paths) {
		e.find("daemon", fine, "", "not running; the first command that needs it starts it")
		return nil
	}
	c, err := e.app.dial(ctx, false)
	if err != nil {
		e.find("daemon", problem, "", "%v", err)
		return nil
	}
	v, err := c.Daemon(ctx)
	if err != nil {
		e.find("daemon", problem, "", "%v", err)
		return nil
	}
	e.find("daemon", fine, "", "running: version %s, %s, on %s", v.Version, count(v.Sessions, "live session"), v.Socket)
	if v.Warning != "" {
		e.find("daemon", warning, "", "%s", v.Warning)
	}
	if v.Version != config.Version {
		e.find("daemon", warning, "run termio daemon stop when its sessions allow it; the next command starts this version",
			"the daemon is version %s and this command %s", v.Version, config.Version)
	}
	if v.HostStarts > 1 {
		e.find("daemon", warning, "termio daemon logs tells why", "its second process was started %s; sessions lived on", times(v.HostStarts))
	}
	agents, err := c.Agents(ctx)
	if err != nil {
		e.find("agents", problem, "", "%v", err)
		return nil
	}
	return &agents
}

// sqliteMagic begins every database file.
const sqliteMagic = "SQLite format 3\x00"

// database looks whether the file could be one; the daemon alone opens it.
func (e *examination) database() {
	f, err := os.Open(e.env.DB)
	switch {
	case os.IsNotExist(err):
		e.find("database", fine, "", "none yet")
		return
	case err != nil:
		e.find("database", problem, "make it readable for yourself", "%v", err)
		return
	}
	defer f.Close()
	head := make([]byte, len(sqliteMagic))
	n, err := io.ReadFull(f, head)
	fi, statErr := f.Stat()
	switch {
	case statErr != nil:
		e.find("database", problem, "", "%v", statErr)
	case n > 0 && (err != nil || string(head) != sqliteMagic):
		e.find("database", problem, "run termio daemon stop, move the file away and start again", "%s is damaged: it is no database", e.env.DB)
	default:
		e.find("database", fine, "", "%s, %.1f MiB", e.env.DB, float64(fi.Size())/(1<<20))
	}
}

// settingsFile looks whether the settings can be used, and what was answered.
func (e *examination) settingsFile() {
	s, err := config.LoadSettings(e.env.SettingsFile)
	e.settings = s
	if err != nil {
		e.find("settings", problem, "", "%v", err)
		return
	}
	answer := func(s *bool, unset string) string {
		switch {
		case s == nil:
			return unset
		case *s:
			return "on"
		}
		return "off"
	}
	e.find("settings", fine, "", "live status %s, session control %s",
		answer(s.LiveStatus, "not answered yet (termio setup asks)"), answer(s.SessionControl, "on"))
}

// link looks whether shells find the command.
func (e *examination) link() {
	l := integrate.New(e.env).Link()
	switch {
	case l.State == integrate.Stale:
		e.find("link", warning, "termio settings set command-link on links this one", "%s links to a termio that is gone", l.Path)
	case l.State != integrate.On:
		e.find("link", fine, "", "none (termio settings set command-link on makes one)")
	case l.Hidden != "":
		e.find("link", warning, "move one of the two away", "%s comes before %s on the PATH and is another program", l.Hidden, l.Path)
	case !l.OnPath:
		e.find("link", warning, "add its folder to the PATH", "%s is not on the PATH", l.Path)
	default:
		e.find("link", fine, "", "%s", l.Path)
	}
}

// localAgents is what the daemon would say of the agents, seen from here: with the
// PATH of this shell.
func localAgents(env config.Env) api.AgentsReply {
	v := api.AgentsReply{Head: api.OKHead()}
	catalogue, files := agent.Load(os.DirFS(env.AgentsDir), nil), integrate.New(env)
	for _, m := range catalogue.All() {
		s := files.Standing(m)
		g := api.AgentInfo{
			ID: m.ID, Name: m.Name, Wire: m.Token(), Command: m.Command, Install: m.Install, Source: m.Source, Installed: m.IsShell(),
			Hooks: s.Hooks, HooksFile: s.HooksFile, Skill: s.Skill, SkillFile: s.SkillFile,
		}
		if s.TrustFile != "" {
			g.Trust, g.TrustFile = s.Trust, s.TrustFile
		}
		if path, err := exec.LookPath(m.Program()); err == nil && !m.IsShell() {
			g.Installed, g.Path = true, path
		}
		for _, w := range m.Warnings {
			g.Warnings = append(g.Warnings, w.String())
		}
		g.Warnings = append(g.Warnings, s.Notes...)
		v.Agents = append(v.Agents, g)
	}
	for _, p := range catalogue.Problems() {
		v.Problems = append(v.Problems, p.API())
	}
	return v
}

// agents looks at the agents that come from elsewhere, and at the manifests.
func (e *examination) agents(v api.AgentsReply) {
	var missing []string
	found := 0
	for _, g := range v.Agents {
		for _, w := range g.Warnings {
			e.find("agent", warning, "", "%s: %s", g.Name, w)
		}
		switch {
		case g.Command == "" || g.Install == "" && g.Source == agent.Builtin:
			continue // a plain terminal, and what is part of termio
		case !g.Installed:
			missing = append(missing, g.Name)
			continue
		}
		found++
		state, next := e.standing(g)
		hooks := g.Hooks
		if g.TrustFile != "" && hooks == string(integrate.On) && g.Trust != string(integrate.On) {
			hooks += " but not trusted"
		}
		e.find("agent", state, next, "%s: %s, hooks %s, skill %s", g.Name, g.Path, hooks, g.Skill)
	}
	switch {
	case found == 0:
		e.find("agent", warning, "install one, such as those of termio agents list", "no agent is installed; sessions run starts commands all the same")
	case len(missing) > 0:
		e.find("agent", fine, "", "not installed: %s", strings.Join(missing, ", "))
	}
	for _, p := range v.Problems {
		e.find("manifest", problem, "correct the file; termio agents test tries it", "%s", problemText(p))
	}
}

// standing grades how an agent's files stand against what was answered.
func (e *examination) standing(g api.AgentInfo) (state grade, next string) {
	on := func(s *bool) bool { return s != nil && *s }
	part := func(state string, wanted bool) grade {
		switch integrate.State(state) {
		case integrate.On, integrate.None:
			return fine
		case integrate.Off:
			if !wanted {
				return fine
			}
			return warning
		case integrate.Stale:
			return warning
		}
		if wanted { // what keeps it from being known
			return problem
		}
		return warning
	}
	hooks, skill := part(g.Hooks, on(e.settings.LiveStatus)), part(g.Skill, on(e.settings.SessionControl))
	switch {
	case hooks == problem || skill == problem:
		return problem, "mend the file, then run termio setup --yes"
	case hooks == warning || skill == warning:
		return warning, "termio setup --yes puts them right, termio setup --no takes them out"
	}
	return fine, ""
}

// git looks for git, which work trees need.
func (e *examination) git(ctx context.Context) {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		e.find("git", warning, "install git", "git does not run (%v); --worktree and the look for stalled agents need it", err)
		return
	}
	e.find("git", fine, "", "%s", strings.TrimSpace(string(out)))
}

// terminal looks at the terminal that the command was typed in.
func (e *examination) terminal() {
	name := e.env.Get("TERM")
	cols, rows, err := term.GetSize(int(e.app.Out.Fd()))
	switch {
	case err != nil:
		e.find("terminal", fine, "", "standard output is no terminal; TERM is %q", name)
	case name == "" || name == "dumb":
		e.find("terminal", warning, "set TERM to what the terminal is, such as xterm-256color", "TERM is %q: no colours, and attach cannot draw", name)
	default:
		colours := "colours as TERM says"
		if c := e.env.Get("COLORTERM"); c == "truecolor" || c == "24bit" {
			colours = "24-bit colours"
		}
		if e.env.Get("NO_COLOR") != "" {
			colours = "no colours (NO_COLOR)"
		}
		e.find("terminal", fine, "", "%s, %dx%d, %s", name, cols, rows, colours)
	}
}

// loggedErrors is how many of the log's errors are shown, of how many last lines.
const (
	loggedErrors = 3
	loggedLines  = 500
)

// log looks at the end of the daemon's log for errors.
func (e *examination) log() {
	lines, err := tail(e.env.Log, loggedLines)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.find("log", fine, "", "none yet")
		return
	case err != nil:
		e.find("log", problem, "", "%v", err)
		return
	}
	var bad []string
	for _, line := range lines {
		if strings.Contains(line, " level=ERROR ") || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			bad = append(bad, line)
		}
	}
	if len(bad) == 0 {
		e.find("log", fine, "", "%s, no errors in its last lines", e.env.Log)
		return
	}
	for _, line := range bad[max(0, len(bad)-loggedErrors):] {
		e.find("log", warning, "termio daemon logs shows what was around it", "%s", line)
	}
}

// gradeColour is the SGR of a grade.
var gradeColour = map[grade]string{fine: "32", warning: "33", problem: "31"}

// doctorMargin is how many cells stand before a finding's text.
const doctorMargin = 19

// printDoctor prints a line for each finding, and its next step below.
func (a *App) printDoctor(v doctorReply) {
	colour := a.colours(a.Out)
	room := width(a.Out) - doctorMargin
	below := func(text string) string { // lines that a terminal would break anywhere
		if room < roomy {
			return clean(text)
		}
		return strings.ReplaceAll(wrap(clean(text), room), "\n", "\n"+strings.Repeat(" ", doctorMargin))
	}
	a.print(v, func(w io.Writer) {
		for _, f := range v.Findings {
			state := fmt.Sprintf("%-8s", f.State)
			if colour {
				state = "\x1b[" + gradeColour[f.State] + "m" + state + "\x1b[m"
			}
			fmt.Fprintf(w, "%s %-9s %s\n", state, f.Check, below(f.Text))
			if f.Next != "" {
				fmt.Fprintf(w, "%*s%s\n", doctorMargin, "", below("next: "+f.Next))
			}
		}
		fmt.Fprintf(w, "%s, %s\n", count(v.Problems, "problem"), count(v.Warnings, "warning"))
	})
}
