package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"termio/internal/api"
)

// settingsCmd is `termio settings`, which alone shows them.
func (a *App) settingsCmd() *cobra.Command {
	show := func(cmd *cobra.Command, names []string) error {
		c, err := a.dial(cmd.Context(), true)
		if err != nil {
			return err
		}
		v, err := c.Settings(cmd.Context())
		if err != nil {
			return err
		}
		return a.printSettings(v, names)
	}
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "settings",
		Short: "Show and change the switches",
		Long: `Show and change the switches. They stand in a file that may be edited by hand;
what is set here takes effect at once.

` + settingsHelp(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(cmd, api.BadOp, "no verb %q; termio settings has %s", args[0], joinedVerbs(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return show(cmd, nil) },
	})
	get := a.jsonFlag(&cobra.Command{
		Use:   "get [name]…",
		Short: "Show all settings, or the named ones",
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if _, ok := settingOf(name); !ok {
					return usage(cmd, api.BadRequest, "no setting %q; there are %s", name, settingNames())
				}
			}
			return show(cmd, args)
		},
	})
	set := a.jsonFlag(&cobra.Command{
		Use:   "set <name> <value>",
		Short: "Change a setting",
		Example: `  termio settings set live-status on
  termio settings set default-agent codex
  termio settings set stalled-after 30m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if name, value, ok := strings.Cut(args[0], "="); ok {
					args = []string{name, value}
				}
			}
			if len(args) != 2 {
				return usage(cmd, api.BadRequest, "set takes a name and a value; the names are %s", settingNames())
			}
			patch, err := settingPatch(args[0], args[1])
			if err != nil {
				return usage(cmd, api.BadRequest, "%v", err)
			}
			return a.set(cmd, api.SettingsChange{Settings: patch})
		},
	})
	unset := a.jsonFlag(&cobra.Command{
		Use:   "unset <name>…",
		Short: "Take a setting back, as if it had never been set",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, api.BadRequest, "unset takes a name; the names are %s", settingNames())
			}
			var change api.SettingsChange
			for _, name := range args {
				s, ok := settingOf(name)
				if !ok {
					return usage(cmd, api.BadRequest, "no setting %q; there are %s", name, settingNames())
				}
				change.Unset = append(change.Unset, s.key())
			}
			return a.set(cmd, change)
		},
	})
	cmd.AddCommand(get, set, unset)
	return cmd
}

// set sends a change and tells what it did.
func (a *App) set(cmd *cobra.Command, change api.SettingsChange) error {
	c, err := a.dial(cmd.Context(), true)
	if err != nil {
		return err
	}
	v, err := c.Set(cmd.Context(), change)
	if err != nil {
		return err
	}
	a.print(v, func(w io.Writer) {
		for _, line := range v.Done {
			fmt.Fprintln(w, clean(line))
		}
		if len(v.Done) == 0 {
			fmt.Fprintln(w, "saved in", clean(v.File))
		}
	})
	a.warn(v.Warnings)
	return nil
}

// warn prints warnings as talk; JSON carries them itself.
func (a *App) warn(warnings []string) {
	if a.json {
		return
	}
	for _, line := range warnings {
		fmt.Fprintf(a.Err, "warning: %s\n", clean(line))
	}
}

// A setting is one field of api.Settings as the command line spells it.
type setting struct {
	name  string // live-status
	field int
	help  string
}

// key is the setting's name in the file and on the wire.
func (s setting) key() string {
	name, _, _ := strings.Cut(reflect.TypeFor[api.Settings]().Field(s.field).Tag.Get("json"), ",")
	return name
}

// settings lists the fields of api.Settings in their order.
var settings = []setting{
	{"live-status", 0, "on or off: hooks in the agents' own files tell their status"},
	{"session-control", 1, "on or off: termio sessions answers, and agents get the skill"},
	{"hook-trust", 2, "on or off: agents that ask whether you trust a hook are told that you trust these"},
	{"command-link", 3, "on or off: termio is linked on the PATH"},
	{"default-agent", 4, "an agent of termio agents list"},
	{"bypass-permissions", 5, "on or off: start agents with their flag that skips permissions"},
	{"stalled-after", 6, "a duration: how long without progress counts as stalled (20m)"},
	{"stalled-lines", 7, "a number: as few new transcript lines count as none (5)"},
	{"history-lines", 8, "a number: lines of history kept for each session (10000)"},
	{"close-grace", 9, "a duration: how long a closed session may take to end (2s)"},
	{"detach-key", 10, `a chord that leaves an attach, or none (ctrl-\)`},
}

func settingsHelp() string {
	var b strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&b, "  %-20s %s\n", s.name, s.help)
	}
	return strings.TrimRight(b.String(), "\n")
}

func settingNames() string {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.name
	}
	return strings.Join(names, ", ")
}

// settingOf finds a setting by its name, or by the file's spelling of it.
func settingOf(name string) (setting, bool) {
	name = strings.TrimSuffix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), "-ms")
	for _, s := range settings {
		if s.name == name {
			return s, true
		}
	}
	return setting{}, false
}

// settingPatch is the change that sets one setting.
func settingPatch(name, value string) (api.Settings, error) {
	var patch api.Settings
	s, ok := settingOf(name)
	if !ok {
		return patch, fmt.Errorf("no setting %q; there are %s", name, settingNames())
	}
	f := reflect.ValueOf(&patch).Elem().Field(s.field)
	bad := fmt.Errorf("%s cannot be %q: it is %s", s.name, value, s.help)
	switch f.Kind() {
	case reflect.Pointer:
		on, ok := switchWords[strings.ToLower(value)]
		if !ok {
			return patch, bad
		}
		f.Set(reflect.ValueOf(&on))
	case reflect.String:
		if _, err := parseDetachKey(value); value == "" || s.name == "detach-key" && err != nil {
			return patch, bad
		}
		f.SetString(value)
	case reflect.Int64:
		ms, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			d, err := time.ParseDuration(value)
			if err != nil {
				return patch, bad
			}
			ms = d.Milliseconds()
		}
		if ms <= 0 {
			return patch, bad
		}
		f.SetInt(ms)
	default:
		n, err := strconv.Atoi(value)
		if err != nil || n <= 0 {
			return patch, bad
		}
		f.SetInt(int64(n))
	}
	return patch, nil
}

var switchWords = map[string]bool{"on": true, "true": true, "yes": true, "off": false, "false": false, "no": false}

// printSettings prints all settings, or the named ones.
func (a *App) printSettings(v api.SettingsReply, names []string) error {
	if a.json {
		a.printJSON(v)
		return nil
	}
	chosen := settings
	if len(names) > 0 {
		chosen = nil
		for _, name := range names {
			s, _ := settingOf(name)
			chosen = append(chosen, s)
		}
	}
	f := reflect.ValueOf(v.Settings)
	for _, s := range chosen {
		fmt.Fprintf(a.out(), "%-20s %s\n", s.name, settingText(s, f.Field(s.field)))
	}
	if len(names) == 0 {
		fmt.Fprintln(a.Err, "in", clean(v.File))
	}
	a.warn(v.Warnings)
	return nil
}

// settingText is a value as settings set takes it.
func settingText(s setting, v reflect.Value) string {
	if v.IsZero() {
		return "(not set)"
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.Elem().Bool() {
			return "on"
		}
		return "off"
	case reflect.Int64:
		return (time.Duration(v.Int()) * time.Millisecond).String()
	case reflect.String:
		return clean(v.String())
	}
	data, err := json.Marshal(v.Interface())
	if err != nil {
		return s.help
	}
	return string(data)
}
