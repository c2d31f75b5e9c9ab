package integrate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// A Link says where the command is linked on the PATH.
type Link struct {
	State State  // On, Off, or Stale: one to a termio home that is gone
	Path  string // the link; "" if Off
	// OnPath is false if the link's folder is not on the PATH, so that a shell
	// does not find the command yet.
	OnPath bool
	// Hidden is another program of that name that a shell finds first; "" mostly.
	Hidden string
}

// commandName is what people type.
const commandName = "termio"

// Link looks for our link in the folders that InstallLink uses.
func (in *Installer) Link() Link {
	for _, dir := range in.linkDirs {
		path := filepath.Join(dir, commandName)
		switch s := in.linkState(path); s {
		case On, Stale:
			return in.describeLink(path, s)
		}
	}
	return Link{State: Off}
}

// linkState says what stands at a link's place: our link, a link to a termio
// home that is gone (Stale), nothing (Off), or something else (None), which is
// never touched.
func (in *Installer) linkState(path string) State {
	dest, err := os.Readlink(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Off
	case err != nil:
		return None // no link
	case dest == in.exe:
		return On
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && filepath.Base(dest) == commandName && filepath.Base(filepath.Dir(dest)) == "bin" {
		return Stale
	}
	return None
}

func (in *Installer) describeLink(path string, s State) Link {
	l := Link{State: s, Path: path}
	for _, dir := range filepath.SplitList(in.lookup("PATH")) {
		if filepath.Clean(dir) == filepath.Dir(path) {
			l.OnPath = true
			return l
		}
		other := filepath.Join(dir, commandName)
		if fi, err := os.Stat(other); err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0 && l.Hidden == "" && in.linkState(other) != On {
			l.Hidden = other
		}
	}
	return l
}

// InstallLink links the command into the first folder that may be written:
// /usr/local/bin, else ~/.local/bin, which is made. A file or a link of somebody
// else's is never replaced.
func (in *Installer) InstallLink() (Link, error) {
	if l := in.Link(); l.State == On {
		return l, nil
	}
	var errs []error
	for i, dir := range in.linkDirs {
		if i == len(in.linkDirs)-1 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		path := filepath.Join(dir, commandName)
		switch in.linkState(path) {
		case None:
			errs = append(errs, fmt.Errorf("%s is not termio's: move it away and try again", path))
			continue
		case Stale:
			if err := os.Remove(path); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		err := os.Symlink(in.exe, path)
		if err == nil {
			return in.describeLink(path, On), nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) || i == len(in.linkDirs)-1 {
			errs = append(errs, err)
		}
	}
	return Link{State: Off}, fmt.Errorf("link the command: %w", errors.Join(errs...))
}

// RemoveLink removes our link wherever it is, and nothing else.
func (in *Installer) RemoveLink() (removed []string, err error) {
	var errs []error
	for _, dir := range in.linkDirs {
		path := filepath.Join(dir, commandName)
		if !slices.Contains([]State{On, Stale}, in.linkState(path)) {
			continue
		}
		if err := os.Remove(path); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, path)
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("remove the link to the command: %w", err)
	}
	return removed, nil
}
