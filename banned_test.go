package termio_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// source is one Go file of the repository.
type source struct {
	path string // from the root, with slashes
	dir  string
	test bool // a test file, or a package that only tests import
	file *ast.File
	fset *token.FileSet
}

// skipFolder names the folders that hold nothing of ours: what was built,
// downloaded or recorded.
func skipFolder(name string) bool {
	return name == ".git" || name == ".cache" || name == ".agents" || name == "bin" || name == "node_modules"
}

// repositoryFiles are the paths of all files of the repository.
func repositoryFiles(t *testing.T) []string {
	t.Helper()
	var paths []string
	err := fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipFolder(d.Name()):
			return fs.SkipDir
		case d.Type().IsRegular() && d.Name() != ".git": // a file in a linked work tree
			paths = append(paths, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// sources parses every Go file, whichever system it is for.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, p := range repositoryFiles(t) {
		if path.Ext(p) != ".go" || strings.Contains(p, "testdata/") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, source{
			path: p,
			dir:  path.Dir(p),
			test: strings.HasSuffix(p, "_test.go") || strings.HasPrefix(p, "internal/termtest/") || strings.HasPrefix(p, "e2e/"),
			file: f,
			fset: fset,
		})
	}
	return all
}

// at is the place of a node, for a message.
func (s source) at(n ast.Node) token.Position { return s.fset.Position(n.Pos()) }

// call returns the import path and the name of a called package-level function,
// such as "time" and "Sleep"; a builtin has no path.
func (s source) call(c *ast.CallExpr) (pkg, name string) {
	switch fn := c.Fun.(type) {
	case *ast.Ident:
		if fn.Obj == nil {
			return "", fn.Name
		}
	case *ast.SelectorExpr:
		x, ok := fn.X.(*ast.Ident)
		if !ok || x.Obj != nil { // a variable that happens to have a package's name
			return "-", ""
		}
		for _, spec := range s.file.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			if spec.Name != nil && spec.Name.Name == x.Name || spec.Name == nil && packageName(p) == x.Name {
				return p, fn.Sel.Name
			}
		}
	}
	return "-", ""
}

// packageName guesses a package's name from its path: its last element that is no
// major version.
func packageName(p string) string {
	base := path.Base(p)
	if regexp.MustCompile(`^v[0-9]+$`).MatchString(base) {
		base = path.Base(path.Dir(p))
	}
	return base
}

// ban is one rule about calls: what is found, where it is allowed, and what to do
// instead.
type ban struct {
	name    string
	calls   map[string][]string // import path → functions
	where   func(s source) bool // files the rule is about
	instead string
	// inside reports whether an enclosing node makes the call legitimate.
	inside func(s source, n ast.Node) bool
}

var bans = []ban{
	{
		name:    "ending the process outside main",
		calls:   map[string][]string{"os": {"Exit"}, "log": {"Fatal", "Fatalf", "Fatalln"}, "syscall": {"Exit"}},
		where:   func(s source) bool { return s.test || s.file.Name.Name != "main" && s.dir != beforeMain },
		instead: "return an error; main alone decides the exit code",
		inside: func(s source, n ast.Node) bool {
			// A test binary that registers itself as a command, or plays one when
			// it runs itself again, is a main of its own.
			fn, ok := n.(*ast.FuncDecl)
			return ok && fn.Name.Name == "TestMain" && s.test
		},
	},
	{
		name:    "waiting for time to pass in a test",
		calls:   map[string][]string{"time": {"Sleep", "Tick", "NewTicker"}},
		where:   func(s source) bool { return s.test },
		instead: "wait on an event with a deadline, or use testing/synctest",
		inside: func(s source, n ast.Node) bool {
			// In a bubble time is the test's own and a sleep takes none.
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return false
			}
			pkg, name := s.call(c)
			return pkg == "testing/synctest" && name == "Test"
		},
	},
	{
		name:    "reading the clock in a pure package",
		calls:   map[string][]string{"time": {"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}},
		where:   func(s source) bool { return !s.test && (s.dir == "internal/vt" || s.dir == "internal/agent") },
		instead: "take now as an argument",
	},
	{
		name:  "printing outside the command line",
		calls: map[string][]string{"fmt": {"Print", "Printf", "Println"}, "": {"print", "println"}},
		where: func(s source) bool {
			return s.dir != "internal/cli" && !strings.HasPrefix(s.dir, "cmd/") && s.file.Name.Name != "main"
		},
		instead: "write to the writer you were given, or return the value",
		inside: func(s source, n ast.Node) bool {
			fn, ok := n.(*ast.FuncDecl)
			return ok && s.test && strings.HasPrefix(fn.Name.Name, "Example")
		},
	},
}

func TestBannedCalls(t *testing.T) {
	for _, s := range sources(t) {
		for _, b := range bans {
			if !b.where(s) {
				continue
			}
			for _, c := range b.find(s) {
				pkg, name := s.call(c)
				t.Errorf("%s: %s.%s: %s; %s", s.at(c), pkg, name, b.name, b.instead)
			}
		}
	}
}

// find returns the calls of a file that the rule is about and that nothing around
// them allows.
func (b ban) find(s source) []*ast.CallExpr {
	var found []*ast.CallExpr
	ast.Inspect(s.file, func(n ast.Node) bool {
		if n == nil || b.inside != nil && b.inside(s, n) {
			return false
		}
		if c, ok := n.(*ast.CallExpr); ok {
			if pkg, name := s.call(c); slices.Contains(b.calls[pkg], name) {
				found = append(found, c)
			}
		}
		return true
	})
	return found
}

// A loop that makes a new timer each time round is a poll with another name: its
// deadline never comes. One deadline is made before the loop. A loop over a table's
// cases is none: each case may have a deadline of its own.
func TestNoTickingLoopsInTests(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			var body *ast.BlockStmt
			switch n := n.(type) {
			case *ast.ForStmt:
				body = n.Body
			case *ast.RangeStmt:
				if _, times := n.X.(*ast.BasicLit); !times {
					return true
				}
				body = n.Body
			default:
				return true
			}
			ast.Inspect(body, func(n ast.Node) bool {
				if _, ok := n.(*ast.FuncLit); ok {
					return false
				}
				if c, ok := n.(*ast.CallExpr); ok {
					if pkg, name := s.call(c); pkg == "time" && name == "After" {
						t.Errorf("%s: time.After inside a loop; make the deadline before it", s.at(c))
					}
				}
				return true
			})
			return true
		})
	}
}

// beforeMain is the folder of the one package that is there to run before the others
// are initialised, and to end the process there.
const beforeMain = "cmd/termio/early"

// What runs before main runs in every hook call too, where each millisecond counts
// and nobody sees it fail.
func TestNoInitFunctions(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir == beforeMain {
			continue
		}
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: init function; call it from main, or initialise on first use", s.at(fn))
			}
		}
	}
}

// guessable lists who may use a generator whose numbers can be predicted, and for
// what: never for an id, a token or a file's name.
var guessable = map[string]string{
	"bench/internal/payload": "payloads that are the same in every run",
	"bench/internal/stat":    "resampling of readings",
	"bench/internal/suite":   "the order of turns, and pauses between keys",
}

func TestRandomnessIsUnguessable(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.file.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			if (p == "math/rand" || p == "math/rand/v2") && !s.test && guessable[s.dir] == "" {
				t.Errorf("%s: imports %s; ids and tokens come from crypto/rand", s.at(spec), p)
			}
		}
	}
}

// A name that excuses what it names ages badly: either the thing is whole, or it
// is not there.
var excuse = regexp.MustCompile(`(?i)(^|[^a-z])(simple|basic|mvp|naive)([^a-z]|$)`)

// drawer matches file names that say nothing of what the file holds.
var drawer = regexp.MustCompile(`^(utils?|helpers?|misc|common|stuff)(_|$)`)

func TestNamesPromiseTheWhole(t *testing.T) {
	for _, p := range repositoryFiles(t) {
		if strings.Contains(p, "testdata/") {
			continue
		}
		if base := strings.TrimSuffix(path.Base(p), path.Ext(p)); excuse.MatchString(words(base)) || drawer.MatchString(base) {
			t.Errorf("%s: name the file after what it holds", p)
		}
	}
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			var id *ast.Ident
			switch n := n.(type) {
			case *ast.FuncDecl:
				id = n.Name
			case *ast.TypeSpec:
				id = n.Name
			}
			if id != nil && excuse.MatchString(words(id.Name)) {
				t.Errorf("%s: %s: name it after what it does", s.at(id), id.Name)
			}
			return true
		})
	}
}

// words parts a name in camel case with spaces.
func words(name string) string {
	return regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(name, "$1 $2")
}

// strayWords must not stand anywhere in the repository, in no file and no path.
// Each is put together here so that this file does not hold it.
var strayWords = []struct{ word, why string }{
	{"TO" + "DO", "write it, or say in ARCHITECTURE.md that it is not here"},
	{"FIX" + "ME", "mend it, or pin it with a test"},
	{"<<<<" + "<<< ", "a merge was left open"},
	{">>>>" + ">>> ", "a merge was left open"},
	{"/wo" + "rk/", "a path of one machine"},
	{"/la" + "b/", "a path of one machine"},
	{"/home/" + "runner", "a path of one machine"},
	{"lorem " + "ipsum", "say something"},
}

func TestNoStrayWords(t *testing.T) {
	for _, p := range repositoryFiles(t) {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(data) { // a recording or a picture
			continue
		}
		for i, line := range strings.Split(p+"\n"+string(data), "\n") {
			for _, w := range strayWords {
				if strings.Contains(line, w.word) {
					t.Errorf("%s:%d: %q: %s", p, i, w.word, w.why)
				}
			}
		}
	}
}

// The rules themselves are tried on code that breaks them, so that a rule which
// has stopped finding anything is noticed.
func TestBansFindWhatTheyBan(t *testing.T) {
	const header = "package x\nimport (\n\"fmt\"\n\"os\"\n\"time\"\n\"testing/synctest\"\n)\nvar _, _, _, _ = fmt.Sprint, os.Args, time.Second, synctest.Wait\n"
	tests := []struct {
		name, dir, body string
		test            bool
		want            int
	}{
		{"exit in a library", "internal/host", "func f() { os.Exit(1) }", false, 1},
		{"exit in TestMain", "internal/host", "func TestMain() { os.Exit(1) }", true, 0},
		{"sleep in a test", "internal/host", "func f() { time.Sleep(1) }", true, 1},
		{"sleep in the program", "internal/host", "func f() { time.Sleep(1) }", false, 0},
		{"sleep in a bubble", "internal/host", "func f() { synctest.Test(nil, func() { time.Sleep(1) }) }", true, 0},
		{"clock in vt", "internal/vt", "func f() { time.Now() }", false, 1},
		{"clock in host", "internal/host", "func f() { time.Now() }", false, 0},
		{"print in a library", "internal/host", "func f() { fmt.Println() }", false, 1},
		{"print by builtin", "internal/host", "func f() { println() }", false, 1},
		{"print in an example", "internal/host", "func ExampleF() { fmt.Println() }", true, 0},
		{"print in the command line", "internal/cli", "func f() { fmt.Println() }", false, 0},
		{"method of a like name", "internal/vt", "func f(time T) { time.Now() }", false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, "x.go", header+tt.body, 0)
			if err != nil {
				t.Fatal(err)
			}
			s := source{path: tt.dir + "/x.go", dir: tt.dir, test: tt.test, file: f, fset: fset}
			var got []string
			for _, b := range bans {
				if b.where(s) {
					for _, c := range b.find(s) {
						got = append(got, fmt.Sprint(s.at(c)))
					}
				}
			}
			if len(got) != tt.want {
				t.Errorf("found %v, want %d", got, tt.want)
			}
		})
	}
}
