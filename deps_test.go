package termio_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// dependency says why the program carries a foreign module and where it is kept.
type dependency struct {
	why string
	// in are the packages that may import it; tests apart, nobody else does.
	in []string
	// tests is set when tests only, of any package, may import it.
	tests bool
}

// dependencies are the direct ones, by module path. A new one needs a sentence
// here that says what it does better than our own code would.
var dependencies = map[string]dependency{
	"github.com/google/go-cmp":        {why: "differences of structures that a person can read", tests: true},
	"github.com/rogpeppe/go-internal": {why: "cases of several files in one (txtar), and scripts that drive the command line in a real terminal", tests: true},
	"github.com/spf13/cobra": {
		why: "the command tree with its help, completions of three shells and man pages",
		in:  []string{"internal/cli"},
	},
	"github.com/tailscale/hujson": {
		why: "a syntax tree of JSON with comments that packs back byte for byte; people's files are edited with it",
		in:  []string{"internal/config", "internal/integrate"},
	},
	"github.com/ncruces/go-sqlite3": {
		why: "SQLite without a C compiler, and nothing to initialise before it is opened: transactions and durability that a file format of our own would have to grow",
		in:  []string{"internal/store"},
	},
	"github.com/pelletier/go-toml/v2": {
		why: "says whether a person's TOML file can be read, and where not; it is edited by byte ranges",
		in:  []string{"internal/integrate"},
	},
	"github.com/spf13/pflag": {why: "the flags of cobra's commands, for their help", in: []string{"internal/cli"}},
	"golang.org/x/sys": {
		why: "terminals, processes, passed descriptors and peers need system calls that the standard library has frozen out",
		in:  []string{"bench/internal/kid", "bench/internal/machine", "bench/internal/peer", "cmd/termio", "e2e", "internal/cli", "internal/client", "internal/demo", "internal/keeper", "internal/pty", "internal/server", "internal/termtest"},
	},
	"golang.org/x/term": {
		why: "raw mode and size of the person's own terminal, on each system as it has to be done there",
		in:  []string{"internal/cli", "internal/demo"},
	},
	"github.com/godbus/dbus/v5": {
		why: "the wire of D-Bus, which desktops are notified over",
		in:  []string{"internal/notify"},
	},
}

// goMod is what `go mod edit -json` tells of go.mod.
type goMod struct {
	Module  struct{ Path string }
	Require []struct {
		Path     string
		Indirect bool
	}
	Replace []struct {
		Old struct{ Path string }
	}
	Exclude []struct{ Path string }
}

func TestDependencies(t *testing.T) {
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod goMod
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	if mod.Module.Path != module {
		t.Errorf("module %q, want %q", mod.Module.Path, module)
	}
	for _, r := range mod.Replace {
		t.Errorf("go.mod replaces %s: what is installed must be what is published", r.Old.Path)
	}
	direct := map[string]bool{}
	for _, r := range mod.Require {
		if r.Indirect {
			continue
		}
		direct[r.Path] = true
		if _, ok := dependencies[r.Path]; !ok {
			t.Errorf("%s is required but not in the table: say why, and which package holds it", r.Path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(dependencies)) {
		d := dependencies[path]
		if !direct[path] {
			t.Errorf("%s is in the table but not required", path)
		}
		if d.why == "" || len(d.in) == 0 && !d.tests {
			t.Errorf("%s has no reason or no package", path)
		}
		for _, in := range d.in {
			if _, ok := layout[in]; !ok {
				t.Errorf("%s: no package %s", path, in)
			}
		}
	}
}

// A dependency stays where the table says, so that replacing it is one package's work.
func TestDependenciesAreContained(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			if path, d, ok := dependencyOf(imp); ok && (d.tests || !slices.Contains(d.in, p.name())) {
				t.Errorf("%s must not import %s (of %s)", p.name(), imp, path)
			}
		}
		for _, imp := range p.allTestImports() {
			if path, d, ok := dependencyOf(imp); ok && !d.tests && !slices.Contains(d.in, p.name()) {
				t.Errorf("the tests of %s must not import %s (of %s)", p.name(), imp, path)
			}
		}
	}
}

// dependencyOf finds the table's entry of an imported package, the longest path first.
func dependencyOf(imp string) (string, dependency, bool) {
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(dependencies))) {
		if imp == path || strings.HasPrefix(imp, path+"/") {
			return path, dependencies[path], true
		}
	}
	return "", dependency{}, false
}
