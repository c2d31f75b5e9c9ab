package payload

import (
	"bytes"
	"strings"
	"testing"
)

// A run on another day must write the same bytes, or its rounds say nothing of the
// program.
func TestMakeIsTheSameEveryTime(t *testing.T) {
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) {
			a, err := Make(kind, 64<<10)
			if err != nil {
				t.Fatal(err)
			}
			b, err := Make(kind, 64<<10)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a, b) {
				t.Error("two payloads differ")
			}
			if len(a) < 64<<10 || !bytes.HasSuffix(a, []byte("\n"+Mark+"\n")) || bytes.Count(a, []byte(Mark)) != 1 {
				t.Errorf("%d bytes that end in %q", len(a), a[len(a)-40:])
			}
		})
	}
}

func TestMakeRefusesAnUnknownKind(t *testing.T) {
	if _, err := Make("noise", 1); err == nil || !strings.Contains(err.Error(), "plain") {
		t.Errorf("got %v", err)
	}
}
