package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"termio/internal/api"
)

// longCommand is the length, in bytes, past which a command is not typed: a terminal
// in canonical mode cuts lines, on some systems already past 1024 bytes.
const longCommand = 1000

// commandLine is what is typed to run a command in the session's shell: the command
// itself, or a line that reads it from a file of ours.
func (s *session) commandLine(command string) (string, error) {
	if command = strings.TrimRight(command, "\r\n"); len(command) > longCommand {
		if err := os.WriteFile(s.h.commandFile(s.id), []byte(command+"\n"), 0o600); err != nil {
			return "", fmt.Errorf("write the command into a file: %w", err)
		}
	}
	return s.typedCommand(command), nil
}

// typedCommand is commandLine for a command whose file there is already.
func (s *session) typedCommand(command string) string {
	if command = strings.TrimRight(command, "\r\n"); len(command) <= longCommand {
		return command
	}
	verb := "."
	switch filepath.Base(s.h.env.Shell) {
	case "fish", "csh", "tcsh":
		verb = "source"
	}
	return verb + " " + quoted(s.h.commandFile(s.id))
}

// commandFile is where a session's long command lies until the session ends.
func (h *Host) commandFile(id api.SessionID) string {
	return filepath.Join(h.env.StateDir, "run-"+string(id))
}

// removeCommand removes the file of a session that has ended: what people run may hold
// what nobody else should read.
func (h *Host) removeCommand(id api.SessionID) {
	if err := os.Remove(h.commandFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.log.Warn("command file not removed", "session", id.Short(), "error", err)
	}
}

// quoted makes a path one word for a shell.
func quoted(path string) string {
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
