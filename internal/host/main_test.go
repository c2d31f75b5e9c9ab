package host_test

import (
	"os"
	"testing"

	"termio/internal/termtest"
)

func TestMain(m *testing.M) {
	if code, ok := termtest.Role(); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}
