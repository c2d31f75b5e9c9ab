package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// ErrReadOnly is wrapped by EditFile's error when its person has made the file
// read-only: that is a wish, not an obstacle.
var ErrReadOnly = errors.New("read-only")

// editLocks order the edits of one file within this process, so that two of
// them never start from the same old content: a *sync.Mutex per path. Other
// processes are noticed, see EditFile.
var editLocks sync.Map

// maxEditTries is how often an edit starts again because another program wrote
// the file in between.
const maxEditTries = 4

// EditFile replaces the content of a file by what edit makes of it, whole or
// not at all, and reports whether anything was written.
//
// The edit gets nil for a file that does not exist, and may give nil to remove
// the file or to leave it absent. It is called again if another program writes the file
// meanwhile; an error of it is returned as it is and nothing is touched. It may
// edit other files, not this one.
//
// Links are followed and stay links; mode and owner of an existing file stay,
// a new one gets perm. The new content goes to a temporary file in the same
// folder, is synced and renamed over the old one, so a crash or a full disk leaves
// one of the two. A file without write permission gives ErrReadOnly.
func EditFile(path string, perm fs.FileMode, edit func(old []byte) ([]byte, error)) (changed bool, err error) {
	target, err := followLinks(path)
	if err != nil {
		return false, err
	}
	lock, _ := editLocks.LoadOrStore(target, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	for range maxEditTries {
		old, fi, err := readRegular(target)
		if err != nil {
			return false, err
		}
		data, err := edit(old)
		if err != nil {
			return false, err
		}
		if data == nil && fi == nil || data != nil && fi != nil && bytes.Equal(old, data) {
			return false, nil
		}
		if err := writable(target, fi); err != nil {
			return false, err
		}
		if data == nil {
			err = removeIf(target, old)
		} else {
			err = replace(target, fi, perm, old, data)
		}
		if !errors.Is(err, errChanged) {
			return err == nil, err
		}
	}
	return false, fmt.Errorf("%s: another program keeps writing this file: try again when it rests", path)
}

// errChanged means that the file is no longer what the edit started from.
var errChanged = errors.New("file changed meanwhile")

// followLinks gives the path behind a chain of links, the last of which may
// point to nothing yet.
func followLinks(path string) (string, error) {
	const maxLinks = 40 // as the kernel has it
	p := path
	for range maxLinks {
		dest, err := os.Readlink(p)
		if errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrNotExist) {
			return p, nil // no link, or not there
		}
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(dest) {
			// Not cleaned: a ".." after a linked folder means the folder behind it.
			dest = filepath.Dir(p) + string(filepath.Separator) + dest
		}
		p = dest
	}
	return "", &fs.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
}

// readRegular reads a regular file; one that does not exist gives nil, nil.
func readRegular(path string) ([]byte, fs.FileInfo, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if !fi.Mode().IsRegular() { // a fifo would block for ever
		return nil, nil, fmt.Errorf("%s is no file but %s: move it away", path, kind(fi.Mode()))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if data == nil {
		data = []byte{}
	}
	return data, fi, nil
}

// writable reports ErrReadOnly for a file that must not be written. The mode
// is looked at as well, for root may write everywhere.
func writable(path string, fi fs.FileInfo) error {
	if fi == nil {
		return nil
	}
	const write = 2 // W_OK
	if err := syscall.Access(path, write); fi.Mode().Perm()&0o222 == 0 || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%s is %w: make it writable (chmod u+w) and try again", path, ErrReadOnly)
	}
	return nil
}

// removeIf removes a file that still holds old.
func removeIf(path string, old []byte) error {
	if err := unchanged(path, old); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// unchanged gives errChanged unless the file still holds old, nil meaning that
// it does not exist.
func unchanged(path string, old []byte) error {
	now, _, err := readRegular(path)
	if err != nil {
		return err
	}
	if (now == nil) != (old == nil) || !bytes.Equal(now, old) {
		return errChanged
	}
	return nil
}

// replace writes data beside path and renames it over a file that still holds old.
func replace(path string, fi fs.FileInfo, perm fs.FileMode, old, data []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".termio-*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if fi != nil {
		perm = fi.Mode().Perm()
	}
	_, err = f.Write(data)
	if err == nil && fi != nil {
		err = keepOwner(f, fi)
	}
	if err == nil {
		err = f.Chmod(perm) // after the owner: a change of owner may clear bits
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := unchanged(path, old); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(dir)
}

// keepOwner gives a new file the owner and group of the old one.
func keepOwner(f *os.File, old fs.FileInfo) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	is, ok1 := fi.Sys().(*syscall.Stat_t)
	was, ok2 := old.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
		return fmt.Errorf("keep the file's owner: %w", err)
	}
	return nil
}

// syncDir makes a rename or a removal in dir survive a power loss. Some file
// systems cannot sync a folder; what was done is done all the same.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
