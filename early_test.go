package termio_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// early are the packages outside the module that cmd/termio/early may need, beside the
// standard library's own internal ones. A package's turn to be initialised comes when all
// it imports are; each of these has its turn before unicode, by which most others are
// held up. With one more import, of strings or fmt, a third of the program would
// be initialised first, without a word and for every hook.
var early = []string{
	"cmp", "errors", "io", "io/fs", "iter", "math/bits", "os", "path", "runtime", "slices", "strconv", "sync",
	"sync/atomic", "syscall", "time", "unicode/utf8", "unsafe",
}

func TestEarlyNeedsNextToNothing(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		cmd := exec.Command("go", "list", "-deps", "./cmd/termio/early")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", goos, err)
		}
		for p := range strings.FieldsSeq(string(out)) {
			in, ours := inModule(p)
			if !slices.Contains(early, p) && !strings.HasPrefix(p, "internal/") && !(ours && (in == "cmd/termio/early" || in == "internal/quick")) {
				t.Errorf("%s: cmd/termio/early needs %s", goos, p)
			}
		}
	}
}
