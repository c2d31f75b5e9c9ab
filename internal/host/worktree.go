package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"termio/internal/api"
	"termio/internal/store"
)

// addWorktree makes a git work tree for a new session, on a branch of its own or on the
// one named, and starts the session there. Once the session has begun, termio never
// removes it; undo is for a start that failed.
func (h *Host) addWorktree(ctx context.Context, rec *store.Session, branch string) (undo func(), err error) {
	tree, ok := findWorkTree(rec.Folder)
	if !ok {
		return nil, api.NewError(api.BadRequest, fmt.Sprintf("%s is in no git repository, so there is no work tree to make", rec.Folder))
	}
	if branch == "" {
		branch = "termio/" + rec.ID.Short()
	}
	if strings.HasPrefix(branch, "-") {
		return nil, api.NewError(api.BadRequest, fmt.Sprintf("%q is no name for a branch", branch))
	}
	dir := filepath.Join(h.env.Worktrees, filepath.Base(tree.main)+"-"+rec.ID.Short())
	if err := os.MkdirAll(h.env.Worktrees, 0o700); err != nil {
		return nil, fmt.Errorf("make a work tree: %w", err)
	}
	args := []string{"worktree", "add", "--quiet"}
	made := ""
	if _, err := git(ctx, tree.root, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch); err != nil {
		made = branch
		args = append(args, "-b", branch, dir)
	} else {
		args = append(args, dir, branch)
	}
	if _, err := git(ctx, tree.root, args...); err != nil {
		return nil, api.NewError(api.StartFailed, fmt.Sprintf("make a work tree on %s: %v", printable(branch), err))
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("make a work tree: %w", err)
	}
	folder := real
	if rel, err := filepath.Rel(tree.root, rec.Folder); err == nil {
		// Where the caller stood in its own tree, if that is committed.
		folder = existingFolder(filepath.Join(real, rel), real)
	}
	rec.Worktree, rec.Folder = real, folder
	return func() { h.removeWorktree(tree.root, real, made) }, nil
}

// removeWorktree takes back a work tree that was just made, and its branch if that was
// made for it. git itself refuses where anybody has begun to work in it.
func (h *Host) removeWorktree(root, dir, branch string) {
	ctx, cancel := context.WithTimeout(h.ctx, gitPatience)
	defer cancel()
	_, err := git(ctx, root, "worktree", "remove", dir)
	if err == nil && branch != "" {
		_, err = git(ctx, root, "branch", "--quiet", "--delete", branch)
	}
	if err != nil {
		h.log.Warn("the work tree of a failed start stays", "folder", dir, "error", err)
	}
}
