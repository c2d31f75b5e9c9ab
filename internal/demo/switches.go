package demo

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// settings are what flags, environment and [[set]] say. After the start the loop
// owns them.
type settings struct {
	sessionID, resume string
	prompt            string
	home              string // folder of the transcripts
	logFile           string
	eventsFile        string
	probe             string
	allowAll          bool
	speed             float64

	// The composer and what goes into it.
	paste, kitty       bool
	vim                string
	mount              time.Duration
	early              string
	dropReturns        int
	pasteSettle, burst time.Duration
	attach             int
	lossy              bool
	readBytes          int
	readEvery, lag     time.Duration
	suggestion         string
	busy               string
	interrupts         int
	restore            bool
	restoreDelay       time.Duration
	startDialogs       []string
	startDelay, deaf   time.Duration
	deafKeys           string
	titles, program    string
	progress           bool
	statusFile         string
	notify             string
	hooks              string
	hookDelay          time.Duration
	hookSkip           []string
	hookExe            string
	queries            []string
	queryWait          time.Duration
	transcript         string
	screen             string
	exitCode           int
	stubborn           bool
}

// A toggle is one switch: --name=value, TERMIO_DEMO_NAME=value, [[set name=value]].
type toggle struct {
	name    string
	takes   string // its values, for people
	initial string
	what    string
	set     func(*settings, string) error
}

// switches is the whole list. docs/demo-agent.md tells for each which agent or
// record it comes from. It is made on first use: this package is initialised in every
// hook as well.
var switches = sync.OnceValue(func() []toggle {
	return []toggle{
		onOff("paste", "on", "bracketed paste (mode 2004) is asked for", func(s *settings) *bool { return &s.paste }),
		onOff("kitty", "off", "kitty keyboard protocol, if the terminal has it", func(s *settings) *bool { return &s.kitty }),
		word("vim", "off insert normal", "modal composer, and the mode it starts in", func(s *settings) *string { return &s.vim }),
		millis("mount", "0ms", "time until the composer exists; the terminal is cooked until then", func(s *settings) *time.Duration { return &s.mount }),
		word("early", "keep drop", "what happens to input from before the mount", func(s *settings) *string { return &s.early }),
		number("drop-returns", "0", "so many first Returns do nothing", func(s *settings) *int { return &s.dropReturns }),
		millis("paste-settle", "0ms", "a Return so soon after a paste does nothing", func(s *settings) *time.Duration { return &s.pasteSettle }),
		millis("burst", "0ms", "a Return so soon after typed text is a new line", func(s *settings) *time.Duration { return &s.burst }),
		number("attach", "0", "pastes of so many bytes show as an attachment line", func(s *settings) *int { return &s.attach }),
		onOff("lossy", "off", "of a paste only the last read is kept", func(s *settings) *bool { return &s.lossy }),
		number("read-bytes", "0", "input is read in pieces of at most so many bytes", func(s *settings) *int { return &s.readBytes }),
		millis("read-every", "0ms", "and so far apart", func(s *settings) *time.Duration { return &s.readEvery }),
		millis("lag", "0ms", "what is typed is looked at so long after it came, all at once", func(s *settings) *time.Duration { return &s.lag }),
		text("suggestion", "", "dim text in the empty composer; Tab takes it", func(s *settings) *string { return &s.suggestion }),
		word("busy", "queue merge steer drop", "what text sent during a turn becomes", func(s *settings) *string { return &s.busy }),
		number("interrupts", "1", "how often Esc must come to interrupt a turn", func(s *settings) *int { return &s.interrupts }),
		onOff("restore", "off", "an interrupt before any output gives the prompt back to the composer", func(s *settings) *bool { return &s.restore }),
		millis("restore-delay", "0ms", "and it is there so long after the agent said that it is idle", func(s *settings) *time.Duration { return &s.restoreDelay }),
		list("start", "dialogs at the start: trust, login, hooks", func(s *settings) *[]string { return &s.startDialogs }, "trust", "login", "hooks"),
		millis("start-delay", "0ms", "they come so long after the composer", func(s *settings) *time.Duration { return &s.startDelay }),
		millis("deaf", "300ms", "a new dialog ignores keys for so long", func(s *settings) *time.Duration { return &s.deaf }),
		word("deaf-keys", "drop keep", "what becomes of these keys; keep: they are the composer's, and each makes the dialog deaf anew", func(s *settings) *string { return &s.deafKeys }),
		word("titles", "on off plain wrong new", "the title: with state, none, no state, always working, unknown marks", func(s *settings) *string { return &s.titles }),
		word("program", "ask on off", "OSC 7501: if its query is answered, unasked, never", func(s *settings) *string { return &s.program }),
		onOff("progress", "off", "OSC 9;4 while working", func(s *settings) *bool { return &s.progress }),
		text("status-file", "", "file that tells the state; {pid} is the process", func(s *settings) *string { return &s.statusFile }),
		word("notify", "off bell osc9 osc777", "a dialog that waits for 6 s says so in this way", func(s *settings) *string { return &s.notify }),
		word("hooks", "on off late doubled swapped child lazy chatty", "how reports are sent", func(s *settings) *string { return &s.hooks }),
		millis("hook-delay", "2s", "how late, with hooks=late", func(s *settings) *time.Duration { return &s.hookDelay }),
		list("hook-skip", "events that are never reported", func(s *settings) *[]string { return &s.hookSkip }),
		text("hook-exe", "", "program that reports, instead of termio's stable one", func(s *settings) *string { return &s.hookExe }),
		list("queries", "terminal queries at the start", func(s *settings) *[]string { return &s.queries }, queryNames()...),
		millis("query-wait", "0ms", "the composer waits so long for their answers", func(s *settings) *time.Duration { return &s.queryWait }),
		word("transcript", "on off frozen rotating split late", "how the transcript is written", func(s *settings) *string { return &s.transcript }),
		word("screen", "alt inline", "alternate screen, or text that scrolls into the history", func(s *settings) *string { return &s.screen }),
		number("exit-code", "0", "exit code of a normal end", func(s *settings) *int { return &s.exitCode }),
		onOff("stubborn", "off", "SIGHUP and SIGTERM are ignored", func(s *settings) *bool { return &s.stubborn }),
	}
})

// defaultQueries are asked at every start unless the switch says otherwise.
const defaultQueries = "xtversion,kitty,da1"

func onOff(name, initial, what string, at func(*settings) *bool) toggle {
	return toggle{name, "on off", initial, what, func(s *settings, v string) error {
		switch v {
		case "on", "true", "1":
			*at(s) = true
		case "off", "false", "0":
			*at(s) = false
		default:
			return errors.New("give on or off")
		}
		return nil
	}}
}

func word(name, words, what string, at func(*settings) *string) toggle {
	all := strings.Fields(words)
	return toggle{name, words, all[0], what, func(s *settings, v string) error {
		if !slices.Contains(all, v) {
			return fmt.Errorf("give one of %s", strings.Join(all, ", "))
		}
		*at(s) = v
		return nil
	}}
}

func text(name, initial, what string, at func(*settings) *string) toggle {
	return toggle{name, "TEXT", initial, what, func(s *settings, v string) error {
		*at(s) = v
		return nil
	}}
}

func number(name, initial, what string, at func(*settings) *int) toggle {
	return toggle{name, "N", initial, what, func(s *settings, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return errors.New("give a number from 0")
		}
		*at(s) = n
		return nil
	}}
}

func millis(name, initial, what string, at func(*settings) *time.Duration) toggle {
	return toggle{name, "TIME", initial, what, func(s *settings, v string) error {
		d, err := parseTime(v, time.Millisecond)
		if err != nil {
			return err
		}
		*at(s) = d
		return nil
	}}
}

// list is a switch of words with commas between; without words any will do.
func list(name, what string, at func(*settings) *[]string, words ...string) toggle {
	takes, initial := "A,B", "none"
	if name == "queries" {
		initial = defaultQueries
	}
	if words != nil {
		takes = strings.Join(words, ",")
	}
	return toggle{name, takes, initial, what, func(s *settings, v string) error {
		if v == "" || v == "none" || v == "off" {
			*at(s) = nil
			return nil
		}
		parts := strings.Split(v, ",")
		for _, p := range parts {
			if words != nil && !slices.Contains(words, p) {
				return fmt.Errorf("%q is none of %s", p, strings.Join(words, ", "))
			}
		}
		*at(s) = parts
		return nil
	}}
}

// maxTime bounds every duration of a script or switch.
const maxTime = 24 * time.Hour

// parseTime reads a duration; a bare number counts units.
func parseTime(s string, unit time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		f, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil {
			return 0, fmt.Errorf("%q is no time such as 300ms or 2s", s)
		}
		d = time.Duration(f * float64(unit))
	}
	if d < 0 || d > maxTime {
		return 0, fmt.Errorf("%q is not between 0 and %v", s, maxTime)
	}
	return d, nil
}

// apply sets one switch.
func (s *settings) apply(name, value string) error {
	i := slices.IndexFunc(switches(), func(t toggle) bool { return t.name == name })
	if i < 0 {
		return fmt.Errorf("no switch %q", name)
	}
	if err := switches()[i].set(s, value); err != nil {
		return fmt.Errorf("switch %s: %w", name, err)
	}
	return nil
}

// errHelp asks for the usage.
var errHelp = errors.New("help wanted")

// envPrefix begins the variables of switches.
const envPrefix = "TERMIO_DEMO_"

// parseArgs reads switches from the environment, then flags.
func parseArgs(args, environ []string) (*settings, error) {
	s := &settings{speed: 1}
	for _, t := range switches() {
		if err := t.set(s, t.initial); err != nil {
			return nil, fmt.Errorf("switch %s: %w", t.name, err) // a default that is none
		}
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if rest, ok := strings.CutPrefix(name, envPrefix); ok {
			name = strings.ReplaceAll(strings.ToLower(rest), "_", "-")
			if err := s.flag(name, value); err != nil {
				return nil, fmt.Errorf("%s%s: %w", envPrefix, rest, err)
			}
		}
	}
	var words []string
	for i := 0; i < len(args); i++ {
		name, ok := strings.CutPrefix(args[i], "-")
		switch {
		case args[i] == "--":
			words = append(words, args[i+1:]...)
			i = len(args)
			continue
		case !ok || name == "":
			words = append(words, args[i])
			continue
		}
		name = strings.TrimPrefix(name, "-")
		if name == "help" || name == "h" {
			return nil, errHelp
		}
		name, value, has := strings.Cut(name, "=")
		if !has && name != "allow-all" {
			if i++; i >= len(args) {
				return nil, fmt.Errorf("flag --%s needs a value", name)
			}
			value = args[i]
		}
		if err := s.flag(name, value); err != nil {
			return nil, fmt.Errorf("flag --%s: %w", name, err)
		}
	}
	s.prompt = strings.Join(words, " ")
	if s.sessionID != "" && s.resume != "" {
		return nil, errors.New("--session-id begins a conversation and --resume goes on with one: give one of them")
	}
	return s, nil
}

// flag sets what is no switch, or a switch.
func (s *settings) flag(name, value string) error {
	switch name {
	case "session-id":
		s.sessionID = value
	case "resume":
		s.resume = value
	case "home":
		s.home = value
	case "log":
		s.logFile = value
	case "events":
		s.eventsFile = value
	case "probe":
		s.probe = value
	case "allow-all":
		s.allowAll = value != "off"
	case "speed":
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || !(f >= 0.01 && f <= 10_000) {
			return errors.New("give a number from 0.01 to 10000")
		}
		s.speed = f
	default:
		return s.apply(name, value)
	}
	return nil
}

// scaled is a time of script or switch at the speed that was asked for.
func (s *settings) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.speed)
}
