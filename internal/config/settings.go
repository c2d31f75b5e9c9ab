package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"termio/internal/api"
)

// Values are the settings with their defaults filled in: what to act on.
type Values struct {
	LiveStatus        bool // hooks stand in the agents' own files; off until asked for
	SessionControl    bool // `termio sessions` answers; on until switched off
	Skill             bool // the skill is installed: session control was switched on on purpose
	CommandLink       bool // the command is linked on the PATH
	DefaultAgent      string
	BypassPermissions bool
	StalledAfter      time.Duration
	StalledLines      int // fewer new transcript lines than this count as none
	HistoryLines      int // scrollback per session
	CloseGrace        time.Duration
}

// ValuesOf fills in the defaults of what was never set.
func ValuesOf(s api.Settings) Values {
	is := func(b *bool, unset bool) bool {
		if b == nil {
			return unset
		}
		return *b
	}
	return Values{
		LiveStatus:        is(s.LiveStatus, false),
		SessionControl:    is(s.SessionControl, true),
		Skill:             is(s.SessionControl, false),
		CommandLink:       is(s.CommandLink, false),
		DefaultAgent:      s.DefaultAgent,
		BypassPermissions: is(s.BypassPermissions, false),
		StalledAfter:      time.Duration(orDefault(s.StalledAfterMS, 20*60*1000)) * time.Millisecond,
		StalledLines:      orDefault(s.StalledLines, 5),
		HistoryLines:      orDefault(s.HistoryLines, 10000),
		CloseGrace:        time.Duration(orDefault(s.CloseGraceMS, 2000)) * time.Millisecond,
	}
}

func orDefault[T comparable](v, unset T) T {
	var zero T
	if v == zero {
		return unset
	}
	return v
}

// A SettingsError says where a settings file cannot be used.
type SettingsError struct {
	File         string
	Line, Column int // from 1, columns in bytes
	Reason       string
}

func (e *SettingsError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s: correct the file by hand; until then it is left alone", e.File, e.Line, e.Column, e.Reason)
}

var bom = []byte("\xef\xbb\xbf")

// LoadSettings reads a settings file, JSON with comments. A file that is not
// there or is empty holds no settings. One that cannot be used gives a
// *SettingsError and whatever could be read before the place it names.
func LoadSettings(file string) (api.Settings, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return api.Settings{}, nil
	}
	if err != nil {
		return api.Settings{}, fmt.Errorf("read the settings: %w", err)
	}
	_, s, err := parseSettings(file, data)
	return s, err
}

// SaveSettings changes a settings file so that loading it gives s. Only the
// keys whose values differ are touched; comments, order and keys that this
// version does not know stay. A file that cannot be used gives a
// *SettingsError and is left as it is; values out of range are an error too.
func SaveSettings(file string, s api.Settings) error {
	if err := checkSettings(s); err != nil {
		return err
	}
	_, err := EditFile(file, 0o600, func(old []byte) ([]byte, error) { return changeSettings(file, old, s) })
	return err
}

// changeSettings is a settings file's content old, changed so that it holds s. file
// names it in errors.
func changeSettings(file string, old []byte, s api.Settings) ([]byte, error) {
	doc, was, err := parseSettings(file, old)
	if err != nil || reflect.DeepEqual(was, s) {
		return old, err
	}
	obj := doc.Value.(*hujson.Object)
	from, to := settingsFields(was), settingsFields(s)
	for i, f := range to {
		switch {
		case bytes.Equal(f.value, from[i].value):
		case f.value == nil:
			removeMember(obj, f.name)
		default:
			setMember(obj, f.name, f.value)
		}
	}
	out := doc.Pack()
	if bytes.HasPrefix(old, bom) {
		out = append(bytes.Clone(bom), out...)
	}
	if _, got, err := parseSettings(file, out); err != nil || !reflect.DeepEqual(got, s) {
		return nil, fmt.Errorf("%s: the change would not read back as meant (%v): edit the file by hand", file, err)
	}
	return out, nil
}

// MergeSettings lays what patch sets over s.
func MergeSettings(s, patch api.Settings) api.Settings {
	dst, src := reflect.ValueOf(&s).Elem(), reflect.ValueOf(patch)
	for i := range src.NumField() {
		if !src.Field(i).IsZero() {
			dst.Field(i).Set(src.Field(i))
		}
	}
	return s
}

// UnsetSettings takes settings back that a file names so, such as live_status.
func UnsetSettings(s api.Settings, names []string) (api.Settings, error) {
	v := reflect.ValueOf(&s).Elem()
next:
	for _, name := range names {
		for i := range v.NumField() {
			if settingName(v.Type().Field(i)) == name {
				v.Field(i).SetZero()
				continue next
			}
		}
		return s, fmt.Errorf("no setting %q: termio settings shows them", name)
	}
	return s, nil
}

// settingsField is one key of the settings; a nil value is one that is not set.
type settingsField struct {
	name  string
	value []byte
}

// settingsFields spells settings as JSON members, in the type's order.
func settingsFields(s api.Settings) []settingsField {
	v := reflect.ValueOf(s)
	fields := make([]settingsField, v.NumField())
	for i := range fields {
		fields[i].name = settingName(v.Type().Field(i))
		if !v.Field(i).IsZero() {
			fields[i].value, _ = json.Marshal(v.Field(i).Interface()) // plain values always encode
		}
	}
	return fields
}

// settingName is a field's key in the file.
func settingName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// checkSettings refuses numbers that mean nothing.
func checkSettings(s api.Settings) error {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if f := v.Field(i); f.CanInt() && f.Int() < 0 {
			return fmt.Errorf("%s is %d: give a number from 1, or 0 for the default", settingName(v.Type().Field(i)), f.Int())
		}
	}
	return nil
}

// parseSettings reads JSON with comments into settings and its syntax tree,
// whose value is always an object.
func parseSettings(file string, data []byte) (hujson.Value, api.Settings, error) {
	var s api.Settings
	text := bytes.TrimPrefix(data, bom)
	if len(bytes.TrimSpace(text)) == 0 {
		return hujson.Value{Value: &hujson.Object{}, AfterExtra: hujson.Extra("\n")}, s, nil
	}
	doc, err := hujson.Parse(text)
	if err != nil {
		return doc, s, syntaxError(file, err)
	}
	at := func(offset int, reason string) *SettingsError {
		before := text[:offset]
		return &SettingsError{file, 1 + bytes.Count(before, []byte("\n")), offset - bytes.LastIndexByte(before, '\n'), reason}
	}
	obj, ok := doc.Value.(*hujson.Object)
	if !ok {
		return doc, s, at(doc.StartOffset, "the settings are one object in braces")
	}
	v := reflect.ValueOf(&s).Elem()
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		for i := range v.NumField() {
			if settingName(v.Type().Field(i)) != name {
				continue
			}
			value := m.Value.Clone()
			value.Minimize()
			if err := json.Unmarshal(value.Pack(), v.Field(i).Addr().Interface()); err != nil {
				v.Field(i).SetZero()
				return doc, s, at(m.Value.StartOffset, fmt.Sprintf("%s must be %s", name, wanted(v.Field(i).Type())))
			}
			if v.Field(i).CanInt() && v.Field(i).Int() < 0 {
				v.Field(i).SetZero()
				return doc, s, at(m.Value.StartOffset, name+" must not be negative")
			}
		}
	}
	return doc, s, nil
}

// wanted names the JSON kind that a field of the settings takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "true or false"
	case reflect.String:
		return "a string"
	}
	return "a whole number"
}

// syntaxError takes the place out of the parser's message, which leads with it.
func syntaxError(file string, err error) *SettingsError {
	e := &SettingsError{File: file, Line: 1, Column: 1, Reason: err.Error()}
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &e.Line, &e.Column); scanErr == nil {
		e.Reason = errors.Unwrap(err).Error()
	}
	return e
}

// setMember sets a member of an object, the last one of that name, or adds it
// behind the others in their layout.
func setMember(obj *hujson.Object, name string, value []byte) {
	for i := len(obj.Members) - 1; i >= 0; i-- {
		if obj.Members[i].Name.Value.(hujson.Literal).String() == name {
			obj.Members[i].Value.Value = hujson.Literal(value)
			return
		}
	}
	indent := hujson.Extra("\n  ")
	if n := len(obj.Members); n > 0 {
		indent = layoutOf(obj.Members[n-1].Name.BeforeExtra)
	}
	// Comments at the end belong to what stands before them, and stay there.
	end := obj.AfterExtra
	kept := bytes.TrimRight(end, " \t\r\n")
	space := end[len(kept):]
	if len(kept) > 0 && !bytes.Contains(indent, []byte("\n")) {
		indent = hujson.Extra("\n  ") // a line comment must end
	}
	if len(space) == 0 && bytes.Contains(indent, []byte("\n")) {
		space = hujson.Extra("\n")
	}
	obj.Members = append(obj.Members, hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: append(bytes.Clone(kept), indent...), Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: hujson.Literal(value)},
	})
	obj.AfterExtra = space
}

// layoutOf is the white space that leads to a member, without comments.
func layoutOf(before hujson.Extra) hujson.Extra {
	if i := bytes.LastIndexByte(before, '\n'); i >= 0 {
		line := before[i+1:]
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if i > 0 && before[i-1] == '\r' {
			return append(hujson.Extra("\r\n"), indent...)
		}
		return append(hujson.Extra("\n"), indent...)
	}
	if before.IsStandard() {
		return before
	}
	return hujson.Extra("\n  ")
}

// removeMember takes every member of that name out of an object; comments
// around them stay.
func removeMember(obj *hujson.Object, name string) {
	for i := len(obj.Members) - 1; i >= 0; i-- {
		m := obj.Members[i]
		if m.Name.Value.(hujson.Literal).String() != name {
			continue
		}
		kept := bytes.TrimRight(slices.Concat(m.Name.BeforeExtra, m.Value.AfterExtra), " \t\r\n")
		if len(bytes.TrimSpace(kept)) > 0 {
			next := &obj.AfterExtra
			if i+1 < len(obj.Members) {
				next = &obj.Members[i+1].Name.BeforeExtra
			}
			*next = slices.Concat(kept, []byte("\n"), bytes.TrimLeft(*next, "\n"))
		}
		obj.Members = append(obj.Members[:i], obj.Members[i+1:]...)
		if n := len(obj.Members); i == n && n > 0 {
			obj.Members[n-1].Value.AfterExtra = nil
		}
	}
}
