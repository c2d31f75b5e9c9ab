package tui

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
	"termio/internal/vt"
)

func paletteStories() []story {
	files := func(m *model) {
		m.update(m.now, filesMsg{from: m.layers[0].layer.(*palette), root: "/home/ada/shop", files: []string{
			"README.md", "internal/cart/cart.go", "internal/cart/cart_test.go", "文档/购物车.md", "web/src/components/checkout/Button.tsx",
		}})
	}
	const zh = "zh_CN.UTF-8"
	return []story{
		{name: "commands", tell: withFleet(2, keys(":"))},
		{name: "commands-in-chinese", locale: zh, tell: withFleet(2, keys(":"))},
		{name: "commands-that-fit", tell: withFleet(2, keys(":", "s", "e", "s", "space", "n", "e"))},
		{name: "commands-that-fit-in-chinese", locale: zh, tell: withFleet(2, keys("ctrl-p", "会", "话"))},
		{name: "commands-none-fits", tell: withFleet(2, keys(":", "z", "z"))},
		{name: "open-while-looking-for-files", tell: withFleet(2, keys("o"))},
		{name: "open", tell: withFleet(2, keys("o"), files)},
		{name: "open-in-chinese", locale: zh, tell: withFleet(2, keys("o"), files)},
		{name: "open-what-fits", tell: withFleet(2, keys("o", "c", "a", "r", "t"), files, keys("down"))},
		{name: "open-what-fits-plain", look: Look{Plain: true}, tell: withFleet(2, keys("o", "c", "a", "r", "t"), files, keys("down"))},
		{name: "open-in-other-letters", tell: withFleet(2, keys("o", "购"), files)},
	}
}

func TestFit(t *testing.T) {
	tests := []struct {
		word string
		want []string // the best first
		none string   // does not fit
	}{
		{"cart", []string{"cart", "internal/cart", "mycart", "c/a/r/t"}, "car"},
		{"nt", []string{"new terminal", "notes"}, "tn"},
		{"购物", []string{"购物车", "我的购物车"}, "购车"},
		{"go", []string{"go.mod", "cart.go", "logo", "g/o"}, "Make"},
	}
	for _, tt := range tests {
		t.Run(tt.word, func(t *testing.T) {
			got := slices.Clone(tt.want)
			slices.Reverse(got)
			score := func(s string) int { n, _ := fit(tt.word, s); return n }
			slices.SortStableFunc(got, func(a, b string) int { return score(b) - score(a) })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("order (-want +got)\n%s", diff)
			}
			if score(got[len(got)-1]) == 0 || score(tt.none) != 0 {
				t.Errorf("%q fits %d, %q fits %d", got[len(got)-1], score(got[len(got)-1]), tt.none, score(tt.none))
			}
		})
	}
	if _, at := fit("ct", "Cart Ünï"); !slices.Equal(at, []int{0, 3}) {
		t.Errorf("the letters stand at %v", at)
	}
}

// Every action is in the palette, by its title and by its id, with its keys.
func TestCommandsHoldEveryAction(t *testing.T) {
	for _, locale := range []string{"", "zh_CN.UTF-8"} {
		m := newModel(Look{}, wordsOf(locale), nil, &fakeTerminals{})
		for _, a := range m.acts {
			m.openCommands()
			p := m.layers[len(m.layers)-1].layer.(*palette)
			p.query.insert(a.id)
			p.look()
			if len(p.found) == 0 || p.found[0].detail != a.id || p.found[0].name != a.title || a.title == "" {
				t.Errorf("%s: %q does not find it first: %+v", locale, a.id, p.found)
			}
			m.pop()
		}
	}
}

// What is marked is done: an action as by its key, a session is gone to, a file is
// opened in the person's editor.
func TestPaletteDoes(t *testing.T) {
	c := &runCalls{}
	m := newModel(Look{}, wordsOf(""), c, &fakeTerminals{})
	m.update(storyTime, sizeMsg{80, 24})
	m.update(storyTime, fleetMsg{theFleet()})
	m.choose(link(2))
	pressed(t, m, ":", "v", "i", "e", "w", ".", "l", "i", "s", "t", "enter")
	if !m.hidden {
		t.Error("the list is not hidden")
	}
	m.setFocus(onList)
	for _, k := range []string{"o", "支", "付", "enter"} {
		key, err := vt.ParseKey(k)
		if err != nil {
			t.Fatal(err)
		}
		m.update(m.now, keyMsg(key))
	}
	if m.cursor != link(6) || m.focus != onPane {
		t.Errorf("%s is selected, the pane has the keys: %v", m.cursor, m.focus == onPane)
	}
	m.setFocus(onList)
	m.update(m.now, keyMsg{Rune: 'o'})
	m.update(m.now, filesMsg{from: m.layers[0].layer.(*palette), root: "/home/ada/shop", files: []string{"it's here/a b.go"}})
	pressed(t, m, "a", "space", "b", ".", "g", "o", "enter")
	want := []api.RunRequest{{Cwd: "/home/ada/shop", Command: `${VISUAL:-${EDITOR:-vi}} './it'\''s here/a b.go'`}}
	for i := range c.run {
		c.run[i].Cols, c.run[i].Rows = 0, 0
	}
	if diff := cmp.Diff(want, c.run); diff != "" {
		t.Errorf("run (-want +got)\n%s", diff)
	}
}

// runCalls keeps what is run.
type runCalls struct {
	calls
	run []api.RunRequest
}

func (c *runCalls) Run(_ context.Context, r api.RunRequest) (api.StartReply, error) {
	c.run = append(c.run, r)
	return api.StartReply{Target: link(4)}, nil
}

func TestFindFiles(t *testing.T) {
	root := t.TempDir()
	for _, f := range []string{"a.go", "sub/b.go", ".git/config", ".hidden/x", "node_modules/y/z.js", "文/c.md", "bad\nname"} {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/", filepath.Join(root, "up")); err != nil {
		t.Fatal(err)
	}
	find := func(root string) []string { return findFiles(nil, root)(context.Background()).(filesMsg).files }
	if diff := cmp.Diff([]string{"a.go", "sub/b.go", "文/c.md"}, find(root)); diff != "" {
		t.Errorf("files (-want +got)\n%s", diff)
	}
	if got := find(filepath.Join(root, "none")); len(got) > 0 {
		t.Errorf("files of a folder that is not there: %q", got)
	}
}
