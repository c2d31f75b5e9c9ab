// Package termio_test holds the rules of the repository as tests: who may import
// whom, what each dependency is for, that every package says what it is, and what
// must not stand in the code at all. They read the sources and go.mod, run with
// every `go test ./...`, and import nothing of the program.
//
// A rule that matters belongs here; a rule without a test is soon broken.
package termio_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// layout lists every package of the program and the packages of the program that
// its own code, tests apart, may import directly. ARCHITECTURE.md tells the reasons.
var layout = map[string][]string{
	"cmd/termio": {
		"cmd/termio/early", "internal/cli", "internal/config", "internal/host", "internal/keeper", "internal/server",
	},
	"cmd/termio/early":   {"internal/quick"},
	"internal/agent":     {"internal/api"},
	"internal/api":       {},
	"internal/cli":       {"internal/agent", "internal/api", "internal/client", "internal/config", "internal/demo", "internal/integrate", "internal/quick", "internal/tui", "internal/vt"},
	"internal/client":    {"internal/api", "internal/config", "internal/quick"},
	"internal/config":    {"internal/api", "internal/quick"},
	"internal/demo":      {"internal/api", "internal/config", "internal/vt"}, // vt: one measure of text for all who draw
	"internal/host":      {"internal/agent", "internal/api", "internal/config", "internal/integrate", "internal/keeper", "internal/notify", "internal/pty", "internal/store", "internal/vt"},
	"internal/integrate": {"internal/agent", "internal/config"},
	"internal/keeper":    {"internal/config", "internal/pty"},
	"internal/notify":    {"internal/api", "internal/config"},
	"internal/pty":       {},
	"internal/quick":     {}, // imports next to nothing; see TestEarlyNeedsNextToNothing
	"internal/server":    {"internal/api", "internal/host", "internal/web"},
	"internal/store":     {"internal/api"},
	"internal/tui":       {"internal/api", "internal/client", "internal/config", "internal/vt"},
	"internal/vt":        {},
	"internal/web":       {},

	// Only tests import what follows; see TestTermtestOnlyFromTests.
	"internal/termtest": {
		"internal/agent", "internal/api", "internal/client", "internal/config", "internal/demo", "internal/host",
		"internal/integrate", "internal/keeper", "internal/notify", "internal/pty", "internal/quick", "internal/server", "internal/store",
		"internal/vt", "internal/web",
	},
	"internal/termtest/fakemodel": {},
	"e2e":                         {"internal/api", "internal/termtest", "internal/termtest/fakemodel"},

	// The suite that measures; see TestBenchStaysOutside.
	"bench/cmd/bare":         {},
	"bench/cmd/post":         {},
	"bench/cmd/termbench":    {"bench/internal/kid", "bench/internal/stat", "bench/internal/suite"},
	"bench/internal/kid":     {"bench/internal/machine"},
	"bench/internal/machine": {},
	"bench/internal/payload": {},
	"bench/internal/peer":    {"bench/internal/kid", "bench/internal/machine", "internal/api", "internal/client", "internal/config", "internal/pty"},
	"bench/internal/stat":    {},
	"bench/internal/suite": {
		"bench/internal/kid", "bench/internal/machine", "bench/internal/payload", "bench/internal/peer", "bench/internal/stat",
		"internal/api", "internal/client",
	},
}

// planned are the packages of the table that nobody has written yet. Whoever adds
// one takes it out of here in the same commit.
var planned = map[string]bool{
	"internal/web": true,
}

// module is the module's path, which is also the prefix of its packages.
const module = "termio"

// listedPackage is what `go list -json` tells of a package.
type listedPackage struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// name is the package's path inside the module; "." is the root.
func (p listedPackage) name() string {
	if p.ImportPath == module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

// allTestImports are the imports of both kinds of test files.
func (p listedPackage) allTestImports() []string {
	return slices.Concat(p.TestImports, p.XTestImports)
}

// inModule returns the path of an imported package inside the module.
func inModule(imp string) (string, bool) {
	return strings.CutPrefix(imp, module+"/")
}

// listPackages lists the module's packages as they build for the system goos. A
// file of the other system may hold an import that this one never sees.
func listPackages(t *testing.T, goos string) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v\n%s", goos, err, stderr.String())
	}
	var ps []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	return ps
}

// packages are the module's packages for every system the program is built for;
// a package stands there once a system.
func packages(t *testing.T) []listedPackage {
	t.Helper()
	listOnce.Do(func() {
		for _, goos := range []string{"linux", "darwin"} {
			listed = append(listed, listPackages(t, goos)...)
		}
	})
	if len(listed) == 0 {
		t.Fatal("go list found no packages")
	}
	return listed
}

var (
	listOnce sync.Once
	listed   []listedPackage
)

func TestLayout(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		name := p.name()
		if name == "." {
			continue // these tests
		}
		seen[name] = true
		may, known := layout[name]
		if !known {
			t.Errorf("%s is not in the layout table: add it with what it may import, and to ARCHITECTURE.md", name)
		}
		for _, imp := range p.Imports {
			if in, ok := inModule(imp); ok && !slices.Contains(may, in) {
				t.Errorf("%s must not import %s", name, in)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(layout)) {
		switch {
		case seen[name] && planned[name]:
			t.Errorf("%s exists: take it out of planned", name)
		case !seen[name] && !planned[name]:
			t.Errorf("%s is in the layout table but does not exist", name)
		}
	}
	for name := range planned {
		if _, ok := layout[name]; !ok {
			t.Errorf("%s is planned but not in the layout table", name)
		}
	}
}

func TestLayoutTableNamesOnlyItsOwnPackages(t *testing.T) {
	for name, may := range layout {
		if !slices.IsSorted(may) {
			t.Errorf("%s: imports are not sorted", name)
		}
		for _, in := range may {
			if _, ok := layout[in]; !ok {
				t.Errorf("%s may import %s, which is not in the table", name, in)
			}
		}
	}
}

// The harness starts daemons and fake servers and ends a test on the spot: none of
// it may reach the program. Nor may a test reach the command line's insides, which
// are tested through the command.
func TestTermtestOnlyFromTests(t *testing.T) {
	isTermtest := func(in string) bool {
		return in == "internal/termtest" || strings.HasPrefix(in, "internal/termtest/")
	}
	for _, p := range packages(t) {
		name := p.name()
		for _, imp := range p.Imports {
			if in, ok := inModule(imp); ok && isTermtest(in) && !isTermtest(name) && name != "e2e" {
				t.Errorf("%s imports %s outside its tests", name, in)
			}
		}
		for _, imp := range p.allTestImports() {
			in, ok := inModule(imp)
			if ok && in == "internal/cli" && name != "internal/cli" && name != "cmd/termio" {
				t.Errorf("the tests of %s import %s: test the command instead", name, in)
			}
		}
	}
}

// The suite measures the program from outside: the program knows nothing of it, and
// neither do the tests of the program.
func TestBenchStaysOutside(t *testing.T) {
	for _, p := range packages(t) {
		if strings.HasPrefix(p.name(), "bench/") {
			continue
		}
		for _, imp := range slices.Concat(p.Imports, p.allTestImports()) {
			if in, ok := inModule(imp); ok && strings.HasPrefix(in, "bench/") {
				t.Errorf("%s imports %s", p.name(), in)
			}
		}
	}
}
