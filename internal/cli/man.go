package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"termio/internal/config"
)

// manCmd is `termio man`: the manual page, from the same tree as the help.
func (a *App) manCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "Print the manual page",
		Example: "  termio man >~/.local/share/man/man1/termio.1",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(a.out(), manual(cmd.Root()))
			return err
		},
	}
}

// manual writes the tree as a manual page for man(1).
func manual(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH TERMIO 1 \"\" \"termio %s\" \"termio\"\n", config.Version)
	fmt.Fprintf(&b, ".SH NAME\ntermio \\- %s\n", roff(lowerFirst(root.Short)))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B termio\n.RI [ DIR ]\n.br\n.B termio\n.I command\n.RI [ \"flags and words\" ]\n")
	b.WriteString(".SH DESCRIPTION\n")
	manText(&b, root.Long)
	b.WriteString(".SH COMMANDS\n")
	manCommands(&b, root)
	b.WriteString(".SH EXIT STATUS\n")
	for _, row := range [][2]string{
		{"0", "done or settled; watch: ended by Ctrl-C or SIGTERM"},
		{"1", "an error, an empty reply, no reply in time; watch: refused at the start"},
		{"2", "watch: the stream was ended from the daemon's side"},
		{"3", "--wait ran out; the reply is printed and the session goes on"},
	} {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", row[0], roff(row[1]))
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, row := range [][2]string{
		{"TERMIO_HOME", "where termio keeps its files (~/.termio)"},
		{"TERMIO_CLI_TIMEOUT", "seconds until a command gives up on a reply (15)"},
		{"TERMIO_SESSION", "set in each session: its id"},
		{"NO_COLOR", "print no colours"},
	} {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", row[0], roff(row[1]))
	}
	return b.String()
}

// manCommands writes each command that a person calls, depth first.
func manCommands(b *strings.Builder, cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() || c.Name() == "help" {
			continue
		}
		fmt.Fprintf(b, ".SS %s\n", roff(useLine(c)))
		about := c.Long
		if about == "" {
			about = c.Short + "."
		}
		manText(b, about)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			left, text := flagColumns(f)
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(left), roff(text))
		})
		manCommands(b, c)
	}
}

// manText writes paragraphs; lines that are indented stay as they are.
func manText(b *strings.Builder, text string) {
	b.WriteString(".PP\n")
	verbatim := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != verbatim {
			verbatim = indented
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[verbatim])
		}
		switch {
		case line == "" && !verbatim:
			b.WriteString(".PP\n")
		default:
			b.WriteString(roff(line) + "\n")
		}
	}
	if verbatim {
		b.WriteString(".fi\n")
	}
}

// roff escapes text for the formatter.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
