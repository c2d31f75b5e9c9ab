package integrate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"termio/internal/agent"
)

// Some agents run a hook only when its user has said that they trust it, and keep that
// in their own configuration: under the hook's place in its file, with a digest of what
// it is. What is recorded here is what the agent itself records when its user says yes.
// That yes is asked for: nothing is recorded without it.

// trustTarget is the file with the record of trust in an agent's hooks; ok is false for an
// agent that asks for none.
func (in *Installer) trustTarget(m *agent.Manifest) (t target, ok bool, err error) {
	ts, err := in.targets(m)
	if err != nil || len(ts) != 1 {
		return target{}, false, err
	}
	d, ok := jsonDialects[m.Hooks.Dialect]
	if !ok || d.trustIn == "" {
		return target{}, false, nil
	}
	file := ts[0].file
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return target{}, false, err
	}
	ed := &tomlTrust{}
	if err == nil {
		if ed.want, err = in.trustRecords(in.trustName(m, file), data); err != nil {
			return target{}, false, fmt.Errorf("%s: %w", file, err)
		}
	}
	return target{file: filepath.Join(filepath.Dir(file), d.trustIn), mode: newFile, ed: ed, shared: true}, true, nil
}

// trustName is the name under which the agent knows the file of its hooks: as the
// folder is spelled, or where a variable moves that, after symlinks. Measured with
// Codex CLI 0.171.0.
func (in *Installer) trustName(m *agent.Manifest, file string) string {
	if c := m.Config; c == nil || in.lookup(c.Env) == "" {
		return file
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return file
	}
	return filepath.Join(dir, filepath.Base(file))
}

// A trustRecord says that the user trusts one hook.
type trustRecord struct {
	key  string // the hook's place: file:event:group:hook
	hash string // of what it is
}

// trustedHook is what the digest is made of, its members in their order.
type trustedHook struct {
	Event   string          `json:"event_name"`
	Hooks   []trustedAction `json:"hooks"`
	Matcher string          `json:"matcher,omitempty"`
}

type trustedAction struct {
	Async   bool   `json:"async"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
	Type    string `json:"type"`
}

// The time limits, in seconds, of hooks that name none.
const (
	trustedTimeout      = 600
	trustedTimeoutShort = 1 // of SessionEnd and Interrupt
)

// trustRecords are the records for our hooks in a file's content.
func (in *Installer) trustRecords(name string, data []byte) ([]trustRecord, error) {
	var file struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct {
				Type, Command string
				Timeout       *int
				Async         bool
			}
		}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	var records []trustRecord
	for event, groups := range file.Hooks {
		for g, group := range groups {
			for i, h := range group.Hooks {
				if !in.mine(h.Command) {
					continue
				}
				limit := trustedTimeout
				if event == "SessionEnd" || event == "Interrupt" {
					limit = trustedTimeoutShort
				}
				if h.Timeout != nil {
					limit = *h.Timeout
				}
				snake := snakeCase(event)
				records = append(records, trustRecord{
					key:  fmt.Sprintf("%s:%s:%d:%d", name, snake, g, i),
					hash: trustHash(trustedHook{snake, []trustedAction{{h.Async, h.Command, limit, h.Type}}, group.Matcher}),
				})
			}
		}
	}
	slices.SortFunc(records, func(a, b trustRecord) int { return strings.Compare(a.key, b.key) })
	return records, nil
}

// snakeCase spells a name like PreToolUse as pre_tool_use.
func snakeCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// trustHash is the digest of a hook.
func trustHash(h trustedHook) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(h); err != nil {
		panic("integrate: a hook that cannot be spelled: " + err.Error())
	}
	sum := sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Trust looks whether an agent's user is on record as trusting our hooks: None where
// the agent asks for no such thing. file is where that stands.
func (in *Installer) Trust(m *agent.Manifest) (s State, file string, err error) {
	t, ok, err := in.trustTarget(m)
	if err != nil || !ok {
		return None, "", err
	}
	s, _, err = t.look()
	return s, t.file, err
}

// TrustHooks records that the person trusts our hooks, as they stand in the agent's
// file. The person must have said so. Errors are those of InstallHooks.
func (in *Installer) TrustHooks(m *agent.Manifest) (Change, error) {
	t, ok, err := in.trustTarget(m)
	if err != nil || !ok || len(t.ed.(*tomlTrust).want) == 0 {
		return Change{}, err
	}
	c := Change{File: t.file}
	if c.Changed, err = in.installIn(t); err != nil {
		return c, fmt.Errorf("record the trust in the hooks of %s: %w", m.Name, err)
	}
	if in.loadRecord(t.file).Existed {
		c.Backup = in.backupFile(t.file)
	}
	if s, _, err := t.look(); err != nil || s != On {
		return c, fmt.Errorf("record the trust in the hooks of %s: %s reads back as %q (%w): another program writes it too; try again", m.Name, t.file, s, err)
	}
	return c, nil
}

// DistrustHooks takes back what TrustHooks recorded, and nothing that the agent has
// recorded itself. It is called while the hooks are still there.
func (in *Installer) DistrustHooks(m *agent.Manifest) (Change, error) {
	t, ok, err := in.trustTarget(m)
	if err != nil || !ok || len(in.loadRecord(t.file).Undo) == 0 {
		return Change{}, err
	}
	c := Change{File: t.file}
	if c.Changed, err = in.removeFrom(t); err != nil {
		return c, fmt.Errorf("take the trust in the hooks of %s back: %w", m.Name, err)
	}
	return c, nil
}

// trustNote says that hooks which are there do not run for want of trust, "" if they do.
func (in *Installer) trustNote(m *agent.Manifest) string {
	s, file, err := in.Trust(m)
	switch {
	case err != nil:
		return fmt.Sprintf("whether %s runs its hooks is not to be known: %v", m.Name, err)
	case s == Off || s == Stale:
		return fmt.Sprintf("%s runs its hooks only when you trust them, which %s does not say: it asks at its next start, or termio settings set hook-trust on records it", m.Name, in.short(file))
	}
	return ""
}

// tomlTrust edits the records of trust in a TOML file: a table for each hook, with one key.
type tomlTrust struct {
	want []trustRecord
}

const trustedKey = "trusted_hash"

func (t *tomlTrust) empty() []byte { return []byte{} }

// trustTable is the name of a record's table.
func trustTable(key string) []string { return []string{hooksMember, "state", key} }

// state says whether none, all or other than the wanted records stand in the file.
func (t *tomlTrust) state(file string, data []byte) (State, []string, error) {
	d, err := parseTOML(file, data)
	if err != nil {
		return "", nil, err
	}
	v, err := d.values()
	if err != nil {
		return "", nil, err
	}
	there, right := 0, 0
	for _, w := range t.want {
		table, _ := lookTable(v, trustTable(w.key))
		if hash, ok := table[trustedKey]; ok {
			there++
			if hash == w.hash {
				right++
			}
		}
	}
	switch {
	case there == 0:
		return Off, nil, nil
	case right == len(t.want):
		return On, nil, nil
	}
	return Stale, nil, nil
}

// lookTable finds a table among values.
func lookTable(v map[string]any, name []string) (table map[string]any, ok bool) {
	for _, n := range name {
		if v, ok = v[n].(map[string]any); !ok {
			return nil, false
		}
	}
	return v, true
}

// install gives the file's content with the wanted records: those that are there with
// another digest get the right one, the others come last.
func (t *tomlTrust) install(file string, data []byte) ([]byte, error) {
	return t.change(file, data, func(d *tomlDocument) error {
		var missing []trustRecord
		for _, w := range t.want {
			at, items := d.table(trustTable(w.key))
			i := slices.IndexFunc(items, func(it tomlItem) bool { return slices.Equal(it.name, []string{trustedKey}) })
			value := quoteTOML(w.hash)
			switch {
			case i >= 0:
				d.apply(edit{items[i].value, items[i].to, value})
			case at >= 0:
				end := len(bytes.TrimRight(d.text[:d.lineEnd(d.items[at].to)], "\r"))
				d.apply(edit{end, end, d.newline + trustedKey + " = " + value})
			default:
				missing = append(missing, w)
			}
		}
		d.pushRecords(missing)
		return nil
	})
}

// uninstall gives the file's content without the records, nil if nothing else is in it.
func (t *tomlTrust) uninstall(file string, data []byte) ([]byte, error) {
	out, err := t.change(file, data, func(d *tomlDocument) error {
		for _, w := range t.want {
			at, items := d.table(trustTable(w.key))
			i := slices.IndexFunc(items, func(it tomlItem) bool { return slices.Equal(it.name, []string{trustedKey}) })
			switch {
			case i < 0:
			case len(items) == 1:
				d.removeTable([]tomlItem{d.items[at], items[0]})
			default:
				d.apply(d.lines(items[i]))
			}
		}
		return nil
	})
	if err == nil && !bytes.Equal(out, data) && len(bytes.TrimSpace(bytes.TrimPrefix(out, bom))) == 0 {
		return nil, nil
	}
	return out, err
}

// table finds the header of a table and its keys; -1 for none.
func (d *tomlDocument) table(name []string) (at int, keys []tomlItem) {
	at = slices.IndexFunc(d.items, func(it tomlItem) bool { return it.header && !it.list && slices.Equal(it.name, name) })
	if at < 0 {
		return at, nil
	}
	for _, it := range d.items[at+1:] {
		if it.header {
			break
		}
		keys = append(keys, it)
	}
	return at, keys
}

// pushRecords puts tables at the file's end.
func (d *tomlDocument) pushRecords(records []trustRecord) {
	if len(records) == 0 {
		return
	}
	var b strings.Builder
	open := len(d.text) > 0 && d.text[len(d.text)-1] != '\n'
	if open {
		b.WriteString(d.newline)
	}
	for i, r := range records {
		if i > 0 || len(bytes.TrimSpace(d.text)) > 0 {
			b.WriteString(d.newline)
		}
		fmt.Fprintf(&b, "[%s.state.%s]%s%s = %s%s", hooksMember, quoteTOML(r.key), d.newline, trustedKey, quoteTOML(r.hash), d.newline)
	}
	text := b.String()
	if open {
		text = strings.TrimSuffix(text, d.newline)
	}
	d.apply(edit{len(d.text), len(d.text), text})
}

// change edits the file, which the agent goes on reading as it was but for our records.
func (t *tomlTrust) change(file string, data []byte, do func(*tomlDocument) error) ([]byte, error) {
	return changeTOML(file, data, t.foreign, "let the agent ask by itself", do)
}

// foreign spells all that the file says but for our records, and for the tables that
// are empty without them.
func (t *tomlTrust) foreign(d *tomlDocument) (string, error) {
	v, err := d.values()
	if err != nil {
		return "", err
	}
	for _, w := range t.want {
		name := trustTable(w.key)
		if table, ok := lookTable(v, name); ok {
			delete(table, trustedKey)
		}
		for n := len(name); n > 0; n-- {
			table, ok := lookTable(v, name[:n])
			above, _ := lookTable(v, name[:n-1])
			if !ok || len(table) > 0 {
				break
			}
			delete(above, name[n-1])
		}
	}
	for n := 2; n > 0; n-- { // a table of records that is empty says nothing
		if table, ok := lookTable(v, trustTable("")[:n]); ok && len(table) == 0 {
			above, _ := lookTable(v, trustTable("")[:n-1])
			delete(above, trustTable("")[n-1])
		}
	}
	b, err := toml.Marshal(v) // keys sorted
	return string(b), err
}
