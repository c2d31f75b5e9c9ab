package demo

import (
	"testing"
	"time"
)

func TestSettings(t *testing.T) {
	environ := []string{"TERMIO_DEMO_HOOKS=late", "TERMIO_DEMO_HOOK_DELAY=3s", "TERMIO_DEMO_SPEED=4", "TERMIO_DEMO_START=trust,login", "HOME=/h"}
	s, err := parseArgs([]string{"--hooks", "doubled", "-paste=off", "--allow-all", "words", "of a", "--", "--prompt"}, environ)
	if err != nil {
		t.Fatal(err)
	}
	if s.hooks != "doubled" {
		t.Errorf("hooks %q: a flag wins over the environment", s.hooks)
	}
	if s.hookDelay != 3*time.Second || s.speed != 4 || s.scaled(s.hookDelay) != 750*time.Millisecond {
		t.Errorf("delay %v at speed %v", s.hookDelay, s.speed)
	}
	if s.paste || !s.allowAll || len(s.startDialogs) != 2 {
		t.Errorf("settings %+v", s)
	}
	if s.prompt != "words of a --prompt" {
		t.Errorf("prompt %q", s.prompt)
	}
	if _, err := parseArgs(nil, []string{"TERMIO_DEMO_DEAF=never"}); err == nil || err.Error() != `TERMIO_DEMO_DEAF: switch deaf: "never" is no time such as 300ms or 2s` {
		t.Errorf("error %v", err)
	}
}

// A terminal whose person wants no colours gets bold and faint alone.
func TestNoColour(t *testing.T) {
	a := &agent{set: &settings{screen: "alt"}, noColor: true, cols: 40, rows: 10, ready: true, now: time.Now}
	a.sayUser("hello")
	a.sayError("bad")
	for _, r := range a.frame().rows {
		if r.text != uncoloured(r.text) {
			t.Errorf("a coloured row: %q", r.text)
		}
	}
}
