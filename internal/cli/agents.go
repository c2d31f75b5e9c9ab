package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"termio/internal/agent"
	"termio/internal/api"
)

// agentsCmd is `termio agents`, which alone is a list.
func (a *App) agentsCmd() *cobra.Command {
	list := a.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "List the agents, where they are installed, and their hooks",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.dial(cmd.Context(), true)
			if err != nil {
				return err
			}
			v, err := c.Agents(cmd.Context())
			if err != nil {
				return err
			}
			a.printAgents(v)
			return nil
		},
	})
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "agents",
		Short: "The agents that can be started, and how they are described",
		Long: `The agents that can be started. Each is described by a manifest, a JSON file; your
own go to config/agents in termio's folder and need no restart. termio agents alone
is termio agents list.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(cmd, api.BadOp, "no verb %q; termio agents has %s", args[0], joinedVerbs(cmd))
			}
			return nil
		},
		RunE: list.RunE,
	})
	schema := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of manifests",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.out().Write(agent.Schema())
			return err
		},
	}
	cmd.AddCommand(list, a.historyCmd(), a.agentsShowCmd(), a.agentsNewCmd(), schema, a.agentsTestCmd())
	return cmd
}

// printAgents prints the catalogue, then what could not be loaded.
func (a *App) printAgents(v api.AgentsReply) {
	if a.json {
		a.printJSON(v)
		return
	}
	rows := make([][]string, len(v.Agents))
	for i, ag := range v.Agents {
		where := ag.Path
		if !ag.Installed {
			where = "not installed"
			if ag.Install != "" {
				where += "; get it from " + ag.Install
			}
		}
		if ag.Unverified != "" {
			where += " (not run here)"
		}
		hooks := ag.Hooks
		if hooks == "" {
			hooks = "none"
		}
		rows[i] = []string{clean(ag.ID), clean(ag.Name), clean(hooks), clean(where)}
	}
	table(a.out(), width(a.Out), []string{"ID", "NAME", "HOOKS", "COMMAND"}, rows, func(_, _ int, cell string) string { return cell })
	for _, ag := range v.Agents {
		for _, warning := range ag.Warnings {
			fmt.Fprintf(a.Err, "warning: %s: %s\n", clean(ag.ID), clean(warning))
		}
	}
	for _, p := range v.Problems {
		fmt.Fprintf(a.Err, "warning: %s\n", problemText(p))
	}
}

func problemText(p api.AgentProblem) string {
	s := clean(p.File)
	if p.Path != "" {
		s += ": " + clean(p.Path)
	}
	return s + ": " + clean(p.Reason)
}

// manifestTrial is `termio agents test`: what is shown to a manifest, in the
// order in which the flags came.
type manifestTrial struct {
	steps   []agent.Step
	expects map[int]api.Status // after which step
}

// apart is the time between two steps of flags: long enough for the rules that
// wait a little.
const apart = 5 * time.Second

// add adds a step that comes a while after the one before.
func (t *manifestTrial) add(step agent.Step) {
	if n := len(t.steps); n > 0 {
		step.At = t.steps[n-1].At + apart
	}
	t.steps = append(t.steps, step)
}

// trialFlag is a flag whose values are steps of a trial.
type trialFlag struct {
	kind string
	add  func(value string) error
}

func (f *trialFlag) String() string     { return "" }
func (f *trialFlag) Type() string       { return f.kind }
func (f *trialFlag) Set(s string) error { return f.add(s) }

func (a *App) agentsTestCmd() *cobra.Command {
	var (
		t      = manifestTrial{expects: map[int]api.Status{}}
		live   bool
		prompt string
		limit  time.Duration
	)
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "test <file or id> [flags]",
		Short: "Try a manifest on recorded screens, titles and hooks",
		Long: `Check a manifest, then show it what the flags give, in their order, and tell what
it makes of each: the status, the dialog, whether the agent is ready, and which of its
fields and events do not fit, with their lines. --expect after one of them says which
status it should be; where it is another, the patterns that matched nothing are named.
The exit code is 1 if there is a fault. Nothing is started and no daemon is needed. A
screen is a file as termio sessions read prints it.

With --live the installed agent itself is tried instead: it is started on a prompt in a
session in this folder, what each channel told of the turn is shown, and the session is
closed again.`,
		Example: `  termio agents test mine.json
  termio agents test mine.json --title "⠋ thinking" --expect working --screen ask.txt --expect attention
  termio agents test claudeCode --hook Stop=stop.json --expect done
  termio agents test mine --live`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, api.BadRequest, "agents test takes one manifest: a file, or the id of an agent")
			}
			if live {
				if len(t.steps) > 0 {
					return usage(cmd, api.BadRequest, "--live tries the agent itself: recorded steps do not go with it")
				}
				return a.tryLive(cmd.Context(), args[0], prompt, limit)
			}
			env, err := a.env()
			if err != nil {
				return err
			}
			return a.tryManifest(env.AgentsDir, args[0], t)
		},
	})
	t.register(cmd.Flags())
	cmd.Flags().BoolVar(&live, "live", false, "start the installed agent, and show what each channel tells of a turn")
	cmd.Flags().StringVar(&prompt, "prompt", "Say hello in one word.", "with --live: what the agent is asked, `TEXT`")
	cmd.Flags().DurationVar(&limit, "timeout", 2*time.Minute, "with --live: how long the turn may take")
	return cmd
}

// register adds the flags that make up a trial.
func (t *manifestTrial) register(f *pflag.FlagSet) {
	f.Var(&trialFlag{"FILE", func(file string) error {
		data, err := os.ReadFile(file)
		if err != nil {
			return rootCause(err)
		}
		v := agent.ParseScreen(string(data))
		t.add(agent.Step{Screen: &v})
		return nil
	}}, "screen", "show it the screen in `FILE`")
	f.Var(&trialFlag{"TEXT", func(title string) error {
		t.add(agent.Step{Title: &title})
		return nil
	}}, "title", "show it the title `TEXT`")
	f.Var(&trialFlag{"EVENT[=FILE]", func(s string) error {
		event, file, with := strings.Cut(s, "=")
		step := agent.Step{Hook: &agent.HookStep{Event: event}}
		if with {
			data, err := os.ReadFile(file)
			if err != nil {
				return rootCause(err)
			}
			step.Hook.Payload = data
		}
		t.add(step)
		return nil
	}}, "hook", "report `EVENT[=FILE]`, with the hook's JSON from the file")
	f.Var(&trialFlag{"FILE", func(file string) error {
		r, err := os.Open(file)
		if err != nil {
			return rootCause(err)
		}
		defer r.Close()
		steps, err := agent.ReadSteps(r, func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(filepath.Dir(file), name)) })
		t.steps = append(t.steps, steps...)
		return err
	}}, "steps", "show it the steps in `FILE`, one JSON object a line")
	f.Var(&trialFlag{"STATE", func(word string) error {
		s, ok := api.ParseState(word)
		if !ok {
			if s, ok = api.ParseStatus(word); !ok {
				return errors.New("the states are working, attention, done, idle")
			}
		}
		if len(t.steps) == 0 {
			return errors.New("it goes after the --screen, --title, --hook or --steps that it is about")
		}
		t.expects[len(t.steps)-1] = s
		return nil
	}}, "expect", "fail unless the status is `STATE` after what came before")
}

// trialReply answers agents test.
type trialReply struct {
	api.Head
	ID       string             `json:"id"`
	Name     string             `json:"name"`
	Warnings []api.AgentProblem `json:"warnings,omitempty"`
	Steps    []trialStep        `json:"steps,omitempty"`
	Failed   int                `json:"failed"` // expectations that were not met
	Faults   int                `json:"faults"` // findings that are faults of the manifest, and warnings about it
}

// trialStep is what a manifest made of one step.
type trialStep struct {
	Step     int         `json:"step"` // counted from 1
	Status   api.Status  `json:"status"`
	Expected api.Status  `json:"expected,omitempty"`
	Channel  string      `json:"channel,omitempty"`
	Why      string      `json:"why,omitempty"`
	Dialog   *api.Dialog `json:"dialog,omitempty"`
	Ready    bool        `json:"ready"`
	Sign     string      `json:"sign,omitempty"` // what said that it is ready, or is not
	Draft    string      `json:"draft,omitempty"`
	Findings []string    `json:"findings,omitempty"`
	faults   []bool      // of the findings, which are faults
}

// tryManifest checks a manifest and shows it the trial's steps.
func (a *App) tryManifest(dir, name string, t manifestTrial) error {
	m, problems, err := findManifest(dir, name)
	if err != nil {
		return manifestError(problems, err)
	}
	v := trialReply{Head: api.OKHead(), ID: m.ID, Name: m.Name}
	for _, p := range problems {
		v.Warnings = append(v.Warnings, p.API())
		v.Faults++
	}
	for _, o := range m.Try(t.steps) {
		s := trialStep{
			Step: o.Step + 1, Status: o.Status, Channel: o.Won, Why: o.Why, Dialog: o.Dialog, Ready: o.Ready, Sign: o.Sign,
			Draft: o.Composer.Draft,
		}
		for _, f := range o.Findings {
			s.find(f)
			if !f.Warning {
				v.Faults++
			}
		}
		if want, ok := t.expects[o.Step]; ok {
			if s.Expected = want; want != o.Status {
				v.Failed++
				for _, f := range m.Misses(t.steps[o.Step], want) {
					s.find(f)
				}
			}
		}
		v.Steps = append(v.Steps, s)
	}
	a.print(v, func(w io.Writer) { printTrial(w, v) })
	if v.Failed > 0 || v.Faults > 0 {
		return errPrinted
	}
	return nil
}

// find adds what was found of the manifest at a step.
func (s *trialStep) find(f agent.Problem) {
	s.Findings = append(s.Findings, f.String())
	s.faults = append(s.faults, !f.Warning)
}

// findManifest reads a manifest's file; a name that is none is the id of the person's own
// in dir, or of a built-in one.
func findManifest(dir, name string) (*agent.Manifest, []agent.Problem, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(name, filepath.Separator) {
		own := filepath.Join(dir, name+".json")
		if text, err := os.ReadFile(own); err == nil {
			return agent.Parse(text, own)
		}
		if m, ok := agent.Load(nil, nil).Find(name); ok {
			return m, nil, nil
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the manifest %s: %w", name, rootCause(err))
	}
	return agent.Parse(data, name)
}

// manifestError is a manifest that cannot be used, with every reason.
func manifestError(problems []agent.Problem, err error) error {
	if len(problems) == 0 {
		return api.NewError(api.BadRequest, err.Error())
	}
	var lines []string
	for _, p := range problems {
		if !p.Warning {
			lines = append(lines, p.String())
		}
	}
	return api.NewError(api.BadRequest, "no valid manifest: "+strings.Join(lines, "; "))
}

func printTrial(w io.Writer, v trialReply) {
	fmt.Fprintf(w, "%s (%s) is valid\n", clean(v.Name), clean(v.ID))
	for _, p := range v.Warnings {
		fmt.Fprintf(w, "warning: %s\n", problemText(p))
	}
	for _, s := range v.Steps {
		mark := ""
		switch {
		case s.Expected == "":
		case s.Expected == s.Status:
			mark = " (as expected)"
		default:
			mark = fmt.Sprintf(" (EXPECTED %s)", s.Expected)
		}
		fmt.Fprintf(w, "%d: %s%s — %s\n", s.Step, s.Status, mark, clean(s.Why))
		if s.Dialog != nil {
			fmt.Fprintf(w, "   %s: %s\n", s.Dialog.Kind, clean(s.Dialog.Question))
			for _, o := range s.Dialog.Options {
				fmt.Fprintf(w, "     %d. %s\n", o.Number, clean(o.Label))
			}
		}
		if s.Sign != "" {
			fmt.Fprintf(w, "   ready: %v (%s)\n", s.Ready, clean(s.Sign))
		}
		if s.Draft != "" {
			fmt.Fprintf(w, "   draft in the composer: %q\n", clean(s.Draft))
		}
		for i, f := range s.Findings {
			kind := "note"
			if s.faults[i] {
				kind = "fault"
			}
			fmt.Fprintf(w, "   %s: %s\n", kind, clean(f))
		}
	}
}
