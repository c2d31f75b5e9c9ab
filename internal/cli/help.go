package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how wide help is written, in cells: it is read in panes.
const helpWidth = 100

// help writes a command's help to its standard output. It needs no daemon and
// touches no file.
func (a *App) help(cmd *cobra.Command, _ []string) {
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintf(&b, "%s\n\nusage: %s\n", strings.TrimSpace(about), useLine(cmd))
	helpCommands(&b, cmd)
	helpFlags(&b, cmd)
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nexamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s <command> --help tells more of each.\n", cmd.CommandPath())
	}
	_, _ = io.WriteString(a.out(), b.String())
}

// useLine is the command line in one line.
func useLine(cmd *cobra.Command) string {
	line := cmd.UseLine()
	if cmd.HasAvailableSubCommands() && cmd.HasParent() {
		return cmd.CommandPath() + " [command] [flags]"
	}
	return line
}

// helpCommands lists the commands under one, by group where it has groups.
func helpCommands(b *strings.Builder, cmd *cobra.Command) {
	section := func(title, group string) {
		var rows [][2]string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && c.GroupID == group {
				rows = append(rows, [2]string{c.Name(), c.Short})
			}
		}
		if len(rows) > 0 {
			fmt.Fprintf(b, "\n%s\n", title)
			twoColumns(b, rows)
		}
	}
	for _, g := range cmd.Groups() {
		section(g.Title, g.ID)
	}
	section("commands:", "")
}

// helpFlags lists a command's flags.
func helpFlags(b *strings.Builder, cmd *cobra.Command) {
	var rows [][2]string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		left, usage := flagColumns(f)
		rows = append(rows, [2]string{left, usage})
	})
	if len(rows) > 0 {
		b.WriteString("\nflags:\n")
		twoColumns(b, rows)
	}
}

// flagColumns is a flag with its value's name, and what it is for.
func flagColumns(f *pflag.Flag) (left, usage string) {
	name, usage := pflag.UnquoteUsage(f)
	left = "--" + f.Name
	if f.Shorthand != "" {
		left = "-" + f.Shorthand + ", " + left
	}
	switch {
	case f.Value.Type() == "bool":
	case f.NoOptDefVal != "":
		left += "[=" + name + "]"
	default:
		left += " " + name
	}
	return left, usage
}

// twoColumns writes names and what they are for, the latter wrapped.
func twoColumns(b *strings.Builder, rows [][2]string) {
	left := 0
	for _, r := range rows {
		left = max(left, cells(r[0]))
	}
	margin := strings.Repeat(" ", left+4)
	for _, r := range rows {
		fmt.Fprintf(b, "  %-*s  %s\n", left, r[0], strings.ReplaceAll(wrap(r[1], helpWidth-left-4), "\n", "\n"+margin))
	}
}

// wrap breaks text into lines of at most so many cells, at spaces.
func wrap(text string, limit int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		switch n := cells(word); {
		case i == 0:
			used = n
		case used+1+n > limit:
			b.WriteByte('\n')
			used = n
		default:
			b.WriteByte(' ')
			used += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}

// flagFault says what is wrong with a flag, in the words of the command line.
func flagFault(err error) string {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f, want := e.GetFlag(), "a value of another kind"
		switch f.Value.Type() {
		case "bool":
			want = "true or false"
		case "int", "int64":
			want = "a whole number"
		default:
			return fmt.Sprintf("--%s cannot be %q: %v", f.Name, e.GetValue(), e.Unwrap())
		}
		return fmt.Sprintf("--%s cannot be %q: give %s", f.Name, e.GetValue(), want)
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Sprintf("--%s needs a value", e.GetFlag().Name)
	}
	return err.Error()
}
