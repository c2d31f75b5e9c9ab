package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/config"
)

// demoCmd is `termio demo`.
func (a *App) demoCmd() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a scripted fleet of agents work in this folder, within seconds",
		Long: `Start three scripted agents in this folder, watch them work, answer one's question,
grant another a permission, run a command and read a reply: everything is done by
verbs of termio sessions, which are shown. There is no model, no network is used,
and the agents run and change nothing.

It happens in a home of its own with a daemon of its own; both are gone at the
end. With --keep it happens in yours, and the sessions stay open to look at.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "use your own daemon and leave the sessions open")
	return cmd
}

const (
	// demoPatience bounds each wait of the demo, which takes seconds when all is well.
	demoPatience = 60 * time.Second
	// demoCleanup bounds the end, also after Ctrl-C.
	demoCleanup = 15 * time.Second
	// exitInterrupted is the exit code after Ctrl-C, as of every program.
	exitInterrupted = Exit(128 + int(syscall.SIGINT))
)

// demo runs the fleet and cleans up after it, whatever happens.
func (a *App) demo(ctx context.Context, keep bool) (err error) {
	// SIGPIPE too: a reader such as head that has seen enough must not leave a daemon behind.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	env, err := a.env()
	if err != nil {
		return err
	}
	folder := cwd()
	if folder == "" {
		return api.NewError(api.BadRequest, "the working folder is gone; change to one that is there")
	}
	home := env.Paths
	if !keep {
		if home, err = demoHome(); err != nil {
			return err
		}
	}
	f := &fleet{app: a, keep: keep, home: home, folder: folder, colour: a.colours(a.Out), begun: time.Now()}
	f.introduce()
	f.client, err = client.Dial(ctx, home, client.Options{
		Cwd: f.folder, Timeout: env.CLITimeout, Start: true, Environ: demoEnviron(a.environ, home.Home),
	})
	if err == nil {
		err = f.show(ctx)
	}
	if !keep {
		err = errors.Join(err, f.cleanUp())
	}
	if ctx.Err() != nil {
		fmt.Fprintln(a.Err, "interrupted")
		return exitInterrupted
	}
	return err
}

// demoHome makes a home for one run. Its path is short, for a socket lies in it.
func demoHome() (config.Paths, error) {
	dir, err := os.MkdirTemp(shortTemp(), "termio-demo-")
	if err != nil {
		return config.Paths{}, fmt.Errorf("make a home for the demo: %w", err)
	}
	p, err := config.NewPaths(dir, shortTemp())
	if err == nil {
		err = p.EnsureDirs()
	}
	if err != nil {
		return p, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

// shortTemp is the folder for temporary files, or a shorter one.
func shortTemp() string {
	const long = 60
	if dir := os.TempDir(); len(dir) <= long {
		return dir
	}
	return "/tmp"
}

// demoEnviron is the environment of the demo's daemon: another home, and no session.
func demoEnviron(environ []string, home string) []string {
	var kept []string
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); name != "TERMIO_HOME" && name != "TERMIO_SESSION" {
			kept = append(kept, kv)
		}
	}
	return append(kept, "TERMIO_HOME="+home)
}

// A fleet is one run of the demo. Its watch sends events; everything else, also the
// printing, is done by the goroutine that called show.
type fleet struct {
	app    *App
	client *client.Client
	keep   bool
	home   config.Paths
	folder string
	colour bool
	begun  time.Time

	events chan api.Event
	latest map[string]api.Event // by link
	titles int                  // cells that titles take
}

// A part is one agent's role.
type part struct{ title, script string }

// parts are the agents of the demo.
var parts = []part{
	{"write the release notes", "[[work 4s]] [[say Terminals outlive every window now.]]"},
	{"choose a colour for the shed", "[[work 2s]] [[ask Which colour?|Red|Blue|Green]]"},
	{"run the tests", "[[work 2s]] [[tool 1s bash: make test]] [[say All pass.]]"},
}

// The parts by what happens to them.
const (
	writer = iota
	asker
	tester
)

// prompt is what the agent gets: a line that says what it is about, and its script.
func (p part) prompt() string { return p.title + "\n" + p.script }

// show goes through the whole demo.
func (f *fleet) show(ctx context.Context) error {
	if _, err := f.client.Open(ctx, api.OpenRequest{Path: f.folder}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	watched := f.watch(ctx)
	defer func() {
		cancel()
		<-watched
	}()
	links, err := f.spawnAll(ctx)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, []string) error{f.answer, f.approve, f.command, f.read, f.list} {
		if err := step(ctx, links); err != nil {
			return err
		}
	}
	return nil
}

// introduce says what is going to happen, and where.
func (f *fleet) introduce() {
	f.line("Three scripted agents in this folder: no model, no network, nothing is changed.")
	f.line("What follows a $ is the command that does the same.")
	f.line("")
	f.line("  folder  %s", f.folder)
	if f.keep {
		f.line("  home    %s (yours; the sessions stay open)", f.home.Home)
	} else {
		f.line("  home    %s (gone at the end, with its daemon)", f.home.Home)
	}
}

// watch starts a watch of every status. The channel is closed when it has ended.
func (f *fleet) watch(ctx context.Context) <-chan struct{} {
	f.events, f.latest = make(chan api.Event, 64), map[string]api.Event{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(f.events)
		o := client.WatchOptions{States: []api.Status{api.Working, api.NeedsYou, api.Done, api.Idle, api.Closed}, NoSnapshot: true}
		_ = f.client.Watch(ctx, o, func(l client.Line) error { // its end is noticed by whoever waits for an event
			if l.Event == nil {
				return nil
			}
			select {
			case f.events <- *l.Event:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return done
}

// spawnAll starts the agents and gives their links.
func (f *fleet) spawnAll(ctx context.Context) ([]string, error) {
	f.heading("Spawn three agents, each on a prompt. In [[ ]] stands what the demo agent does.")
	var links []string
	for _, p := range parts {
		f.titles = max(f.titles, cells(p.title))
		f.shell("termio sessions spawn --agent demo '%s\n    %s'", p.title, p.script)
		r, err := f.client.Spawn(ctx, api.SpawnRequest{Agent: "demo", Prompt: p.prompt(), Cwd: f.folder})
		if err != nil {
			return nil, err
		}
		f.line("  %s", r.Target)
		links = append(links, r.Target)
	}
	f.heading("They work. One will ask a question, one for a permission.")
	f.shell("termio sessions watch --state working,needs-you,done,idle")
	return links, nil
}

// answer waits for the question and answers it.
func (f *fleet) answer(ctx context.Context, links []string) error {
	asked, err := f.until(ctx, links[asker], api.NeedsYou)
	if err != nil {
		return err
	}
	if _, err := f.until(ctx, links[tester], api.NeedsYou); err != nil {
		return err
	}
	f.heading("Answer the question by its number; the label would do as well.")
	if err := f.asks(ctx, asked.Link); err != nil {
		return err
	}
	return f.sendWait(ctx, asked.Link, "2")
}

// approve grants the permission.
func (f *fleet) approve(ctx context.Context, links []string) error {
	f.heading("Grant the permission. Anything that is no answer to it would be refused.")
	if err := f.asks(ctx, links[tester]); err != nil {
		return err
	}
	return f.sendWait(ctx, links[tester], "1")
}

// asks shows what a session wants to know.
func (f *fleet) asks(ctx context.Context, link string) error {
	v, err := f.client.List(ctx, client.ListOptions{})
	if err != nil {
		return err
	}
	for _, s := range v.Sessions {
		if s.Link == link {
			for l := range strings.Lines(s.Prompt) {
				f.line("  │ %s", clean(strings.TrimSuffix(l, "\n")))
			}
		}
	}
	return nil
}

// sendWait sends a text and waits for the outcome.
func (f *fleet) sendWait(ctx context.Context, link, text string) error {
	f.shell("termio sessions send --wait %s %s", short(link), text)
	delete(f.latest, link) // what it did before is over
	var r api.WaitReply
	err := f.during(ctx, func(ctx context.Context) (err error) {
		r, err = f.client.SendWait(ctx, link, api.SendRequest{Text: text, Waiting: f.waiting()})
		return err
	})
	if err != nil {
		return err
	}
	if r.TimedOut {
		return fmt.Errorf("%s is still %s after %v", link, r.Status, demoPatience)
	}
	if _, err := f.until(ctx, link, r.Status); err != nil { // the watch tells it as well
		return err
	}
	return f.transcript(r)
}

func (f *fleet) waiting() api.Waiting {
	return api.Waiting{Wait: true, TimeoutMS: demoPatience.Milliseconds()}
}

// command runs a shell command in a session of its own.
func (f *fleet) command(ctx context.Context, _ []string) error {
	const command = `echo "$((6 * 7)) is the answer"; uname -s`
	f.heading("Commands run in sessions too; the shell stays.")
	f.shell("termio sessions run --wait '%s'", command)
	var r api.WaitReply
	err := f.during(ctx, func(ctx context.Context) (err error) {
		r, err = f.client.RunWait(ctx, api.RunRequest{Command: command, Cwd: f.folder, Waiting: f.waiting()})
		return err
	})
	if err != nil {
		return err
	}
	f.shell("termio sessions read --lines 4 %s", short(r.Target))
	screen, err := f.client.Read(ctx, r.Target, client.ReadOptions{Lines: 4})
	if err != nil {
		return err
	}
	for l := range strings.Lines(screen.Screen) {
		f.line("  │ %s", clean(strings.TrimSuffix(l, "\n")))
	}
	return nil
}

// read waits for the writer and asks it for one thing more, to read that reply alone.
func (f *fleet) read(ctx context.Context, links []string) error {
	if _, err := f.until(ctx, links[writer], api.Done); err != nil {
		return err
	}
	f.heading("Ask the first one for more; its reply is lines of its transcript.")
	return f.sendWait(ctx, links[writer], "and in one sentence")
}

// list shows all of them at the end.
func (f *fleet) list(ctx context.Context, _ []string) error {
	f.drain()
	f.heading("That is everybody.")
	f.shell("termio sessions list")
	v, err := f.client.List(ctx, client.ListOptions{})
	if err != nil {
		return err
	}
	for i := range v.Sessions {
		v.Sessions[i].Title = parted(v.Sessions[i].Title)
	}
	f.app.printList(v, false)
	return nil
}

// cleanUp ends the demo's daemon and removes its home.
func (f *fleet) cleanUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), demoCleanup)
	defer cancel()
	f.heading("Leave nothing behind.")
	var (
		r   api.StopReply
		err error
	)
	if f.client != nil {
		f.shell("termio daemon stop")
		if r, err = f.client.Stop(ctx); err != nil {
			// Its home is left as well: the log in it tells more.
			return fmt.Errorf("stop the demo's daemon, in %s: %w", f.home.Home, err)
		}
	}
	if err := os.RemoveAll(f.home.Home); err != nil {
		return fmt.Errorf("remove the demo's home: %w", err)
	}
	f.line("  stopped; %s ended, %s removed; %.1f s in all", count(r.Closed, "session"), filepath.Base(f.home.Home), time.Since(f.begun).Seconds())
	return nil
}

// until prints events until one has the status, or has had it as its last.
func (f *fleet) until(ctx context.Context, link string, want api.Status) (api.Event, error) {
	timeout := time.NewTimer(demoPatience)
	defer timeout.Stop()
	for {
		switch e := f.latest[link]; {
		case e.Status == want:
			return e, nil
		case e.Status == api.Closed:
			return e, api.NewError(api.SessionClosed, fmt.Sprintf("%s has ended: %s", link, e.Reason))
		}
		select {
		case e, ok := <-f.events:
			if !ok {
				return api.Event{}, f.cutOff(ctx)
			}
			f.event(e)
		case <-timeout.C:
			return api.Event{}, fmt.Errorf("%s is not %s after %v; termio daemon logs tells more", link, want, demoPatience)
		}
	}
}

// during calls fn and prints the events that come meanwhile.
func (f *fleet) during(ctx context.Context, fn func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- fn(ctx) }()
	events := f.events
	for {
		select {
		case err := <-done:
			return err
		case e, ok := <-events:
			if !ok {
				events = nil // fn ends as well, and knows more
				continue
			}
			f.event(e)
		}
	}
}

// drain prints what has come.
func (f *fleet) drain() {
	for {
		select {
		case e, ok := <-f.events:
			if !ok {
				return
			}
			f.event(e)
		default:
			return
		}
	}
}

func (f *fleet) cutOff(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return client.ErrStreamEnded
}

// event prints a transition.
func (f *fleet) event(e api.Event) {
	f.latest[e.Link] = e
	what := paint(f.colour, e.Status, string(e.Status))
	if e.Status == api.NeedsYou && e.Dialog != nil {
		what += ": " + clean(e.Dialog.Question)
	}
	title := cutCells(clean(parted(e.Title)), f.titles)
	pad := strings.Repeat(" ", f.titles-cells(title))
	f.line("  %5.1fs  %s%s  %s", time.Since(f.begun).Seconds(), title, pad, what)
}

// parted is a title without the script that an agent of the demo has in its prompt.
func parted(title string) string {
	head, _, _ := strings.Cut(title, " [[")
	return head
}

// short is the beginning of a link's id, which names it as well.
func short(link string) string {
	id := strings.TrimPrefix(link, api.LinkPrefix)
	return id[:min(8, len(id))]
}

// heading begins a step.
func (f *fleet) heading(text string) {
	f.line("")
	if f.colour {
		text = "\x1b[1m" + text + "\x1b[m"
	}
	f.line("%s", text)
}

// shell shows the command that does the same as the step.
func (f *fleet) shell(format string, args ...any) {
	text := "$ " + fmt.Sprintf(format, args...)
	if f.colour {
		text = "\x1b[2m" + text + "\x1b[m"
	}
	f.line("  %s", text)
}

// line prints one line. A reader that has gone is told by SIGPIPE, see demo.
func (f *fleet) line(format string, args ...any) {
	fmt.Fprintf(f.app.Out, format+"\n", args...)
}
