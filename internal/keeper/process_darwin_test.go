package keeper

import (
	"testing"

	"termio/internal/pty"
)

// awaitEnd would need kqueue here, for tests that macOS has never run.
func awaitEnd(t *testing.T, p pty.Proc) {
	t.Helper()
	if p.Alive() {
		t.Skip("can't wait for somebody else's child")
	}
}
