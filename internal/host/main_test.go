package host_test

import (
	"os"
	"testing"

	"termio/internal/client"
	"termio/internal/termtest"
)

func TestMain(m *testing.M) {
	if code, ok := termtest.Role(); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// listAll is a list of what is open in the caller's project.
var listAll = client.ListOptions{}
