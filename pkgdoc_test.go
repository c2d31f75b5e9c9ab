package termio_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// longestPackageComment is the number of lines past which a package comment has
// become a document: it then belongs in doc.go, or in docs/.
const longestPackageComment = 20

// parseFiles parses files of a package's folder with their comments.
func parseFiles(t *testing.T, fset *token.FileSet, dir string, names []string) []*ast.File {
	t.Helper()
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// Each package says once what it hides, who calls it, what it never does and how
// it may be called concurrently.
func TestPackageComment(t *testing.T) {
	done := map[string]bool{}
	for _, p := range packages(t) {
		names := p.GoFiles
		if len(names) == 0 { // tests only
			names = slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		}
		if done[p.name()] {
			continue
		}
		done[p.name()] = true
		fset := token.NewFileSet()
		var in []string
		for _, f := range parseFiles(t, fset, p.Dir, names) {
			if f.Doc == nil {
				continue
			}
			file := filepath.Base(fset.Position(f.Pos()).Filename)
			in = append(in, file)
			if lines := strings.Count(strings.TrimSpace(f.Doc.Text()), "\n") + 1; lines > longestPackageComment && file != "doc.go" {
				t.Errorf("%s: package comment of %d lines in %s: past %d it goes to doc.go", p.name(), lines, file, longestPackageComment)
			}
		}
		if len(in) != 1 {
			t.Errorf("%s: %d package comments %v, want one", p.name(), len(in), in)
		}
	}
}

// Whoever calls an exported name learns from its comment what it does, its units
// and its errors.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, p := range packages(t) {
		fset := token.NewFileSet()
		for _, f := range parseFiles(t, fset, p.Dir, p.GoFiles) {
			if f.Name.Name == "main" || ast.IsGenerated(f) {
				continue
			}
			for _, id := range undocumented(f) {
				t.Errorf("%s: exported %s has no comment", fset.Position(id.Pos()), id.Name)
			}
		}
	}
}

// undocumented returns the exported names that a file declares at its top level
// without a comment of their own or of their group.
func undocumented(f *ast.File) []*ast.Ident {
	var ids []*ast.Ident
	add := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		if id.IsExported() && !slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d != nil }) {
			ids = append(ids, id)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || receiverExported(d.Recv) && !wellKnownMethod[d.Name.Name] {
				add(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name, d.Doc, s.Doc, s.Comment)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add(id, d.Doc, s.Doc, s.Comment)
					}
				}
			}
		}
	}
	return ids
}

// wellKnownMethod are the methods whose meaning an interface of the standard
// library has fixed; a comment could only repeat it.
var wellKnownMethod = map[string]bool{
	"Error": true, "Unwrap": true, "Is": true, "As": true, "String": true, "LogValue": true, "Len": true, "Less": true, "Swap": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true, "ServeHTTP": true,
}

// receiverExported reports whether a method belongs to an exported type.
func receiverExported(recv *ast.FieldList) bool {
	typ := recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}
