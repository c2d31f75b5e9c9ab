package host

import (
	"os"
	"path/filepath"
	"strings"
)

// A workTree is a git work tree that holds a folder.
type workTree struct {
	root string // its top folder
	main string // the top folder of the repository's first work tree; root itself unless this is a linked one
}

// findWorkTree looks for the git work tree around dir. It reads git's own
// files and starts no git: it runs at every call from a folder.
func findWorkTree(dir string) (workTree, bool) {
	for d := dir; ; d = filepath.Dir(d) {
		dotGit := filepath.Join(d, ".git")
		if fi, err := os.Lstat(dotGit); err == nil {
			if fi.IsDir() {
				return workTree{d, d}, true
			}
			return workTree{d, mainWorkTree(d, dotGit)}, true
		}
		if d == filepath.Dir(d) {
			return workTree{}, false
		}
	}
}

// mainWorkTree follows the .git file of a linked work tree to the repository's
// first one. A submodule, or a repository without a work tree of its own, has
// none: the tree then stands for itself.
func mainWorkTree(root, dotGit string) string {
	gitDir, ok := readLink(dotGit, "gitdir:", root)
	if !ok {
		return root
	}
	common, ok := readLink(filepath.Join(gitDir, "commondir"), "", gitDir)
	if !ok || filepath.Base(common) != ".git" {
		return root
	}
	return filepath.Dir(common)
}

// readLink reads a path from one of git's one-line files.
func readLink(file, label, base string) (string, bool) {
	b, err := os.ReadFile(file)
	if err != nil || len(b) > 4096 {
		return "", false
	}
	p, ok := strings.CutPrefix(strings.TrimSpace(string(b)), label)
	p = strings.TrimSpace(p)
	if !ok || p == "" {
		return "", false
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(base, p)
	}
	return filepath.Clean(p), true
}

// holds reports whether folder is root or lies in it. Both are clean and absolute.
func holds(root, folder string) bool {
	return folder == root || root == "/" || strings.HasPrefix(folder, root+"/")
}

// realFolder gives the absolute, symlink-free path of a folder.
func realFolder(dir string) (string, error) {
	p, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if p, err = filepath.Abs(p); err != nil {
		return "", err
	}
	if fi, err := os.Stat(p); err != nil {
		return "", err
	} else if !fi.IsDir() {
		return "", &os.PathError{Op: "open", Path: p, Err: errNotFolder}
	}
	return p, nil
}
