package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"termio/internal/agent"
	"termio/internal/api"
	"termio/internal/config"
)

// manifestReply answers agents show.
type manifestReply struct {
	api.Head
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Source   string          `json:"source"` // agent.Builtin, or the path of the person's file
	Manifest json.RawMessage `json:"manifest"`
}

func (a *App) agentsShowCmd() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "show <id>",
		Short: "Print an agent's manifest as it stands",
		Long: `Print the manifest of an agent, built in or your own, as it stands. With --json it
comes with where it is from.`,
		Example: `  termio agents show claudeCode
  termio agents show claudeCode >~/.termio/config/agents/claudeCode.json   # yours from now on`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, api.BadRequest, "agents show takes one agent: an id or a name of termio agents list")
			}
			env, err := a.env()
			if err != nil {
				return err
			}
			return a.showManifest(env.Paths, args[0])
		},
	})
}

func (a *App) showManifest(p config.Paths, word string) error {
	m, ok := agent.Load(os.DirFS(p.AgentsDir), nil).Find(word)
	if !ok {
		return noAgent(word, p.AgentsDir)
	}
	v := manifestReply{Head: api.OKHead(), ID: m.ID, Name: m.Name, Source: m.Source}
	text := agent.BuiltinText(m.ID)
	if m.Source != agent.Builtin {
		v.Source = filepath.Join(p.AgentsDir, m.Source)
		var err error
		if text, err = os.ReadFile(v.Source); err != nil {
			return fmt.Errorf("read the manifest %s: %w", v.Source, rootCause(err))
		}
	}
	v.Manifest = text
	a.print(v, func(w io.Writer) { _, _ = w.Write(text) }) // a failed write is told by Run
	return nil
}

func noAgent(word, dir string) error {
	return api.NewError(api.BadAgent, fmt.Sprintf("no agent %q; termio agents list shows them, and a file of your own goes to %s", word, dir))
}

// newManifestReply answers agents new.
type newManifestReply struct {
	api.Head
	ID   string `json:"id"`
	File string `json:"file"`
}

// schemaFile is where the schema stands beside a person's manifests, so that an editor
// finds it without a network. Names that begin with a dot are no manifests.
const schemaFile = ".manifest.schema.json"

func (a *App) agentsNewCmd() *cobra.Command {
	var name, command string
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "new <id> [flags]",
		Short: "Begin a manifest of your own",
		Long: `Write the beginning of a manifest into config/agents in termio's folder, with the
schema beside it, so that an editor completes and checks what you add. The agent can be
started at once. A file that is there is never written over.`,
		Example: `  termio agents new mine --command "mine --tui" --name "My Agent"
  termio agents test mine`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, api.BadRequest, "agents new takes one id, by which sessions know the agent: letters, digits, '-', '_', '.'")
			}
			env, err := a.env()
			if err != nil {
				return err
			}
			if name == "" {
				name = args[0]
			}
			if command == "" {
				command = args[0]
			}
			return a.newManifest(env.Paths, args[0], name, command)
		},
	})
	cmd.Flags().StringVar(&name, "name", "", "what people call it, `NAME`; the id by default")
	cmd.Flags().StringVar(&command, "command", "", "how it is started, `COMMAND` with its arguments; the id by default")
	return cmd
}

func (a *App) newManifest(p config.Paths, id, name, command string) error {
	text := beginManifest(id, name, command)
	file := filepath.Join(p.AgentsDir, id+".json")
	if problems, err := parsed(text, file); err != nil {
		return manifestError(problems, err)
	}
	if agent.BuiltinText(id) != nil {
		return api.NewError(api.BadRequest, fmt.Sprintf(
			"%s is built in, and a file of that id replaces it whole: take another id, or begin with what it is: termio agents show %s >%s", id, id, file))
	}
	if err := p.EnsureDirs(); err != nil {
		return err
	}
	if err := writeNew(file, text); errors.Is(err, fs.ErrExist) {
		return api.NewError(api.BadRequest, fmt.Sprintf("%s is there already; termio agents test %s tries it", file, id))
	} else if err != nil {
		return fmt.Errorf("write the manifest %s: %w", file, rootCause(err))
	}
	// Without it a manifest is as good: an editor helps less.
	_ = os.WriteFile(filepath.Join(p.AgentsDir, schemaFile), agent.Schema(), 0o600)
	v := newManifestReply{Head: api.OKHead(), ID: id, File: file}
	a.print(v, func(w io.Writer) {
		fmt.Fprintf(w, "wrote %s\nstart it: termio sessions spawn --agent %s \"...\"\nwhat else a manifest can say: docs/agents.md; termio agents test %s tries it\n", file, id, id)
	})
	return nil
}

// parsed checks a manifest that is to be written.
func parsed(text []byte, file string) ([]agent.Problem, error) {
	_, problems, err := agent.Parse(text, filepath.Base(file))
	return problems, err
}

// beginManifest is the text of a manifest that has what every one must have.
func beginManifest(id, name, command string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(struct { // strings alone cannot fail
		Schema  string `json:"$schema"`
		ID      string `json:"id"`
		Name    string `json:"name"`
		Command string `json:"command"`
	}{"./" + schemaFile, id, name, command})
	return b.Bytes()
}

// writeNew writes a file that is not there yet, whole or not at all.
func writeNew(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(file) // half a manifest helps nobody
	}
	return err
}
