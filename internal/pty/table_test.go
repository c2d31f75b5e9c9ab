package pty

import (
	"os/exec"
	"sync"
	"testing"
)

// Many may ask for the process table at once and share its readings; what there was when
// one of them asked is in what it gets.
func TestTableIsOfAfterTheQuestion(t *testing.T) {
	const askers, times = 8, 5
	var all sync.WaitGroup
	for range askers {
		all.Go(func() {
			for range times {
				cmd := exec.Command("sleep", "1000")
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				now, err := readTable()
				if err != nil {
					t.Error(err)
				} else if _, ok := now.byPID[cmd.Process.Pid]; !ok {
					t.Errorf("process %d, started before the question, is not in the table", cmd.Process.Pid)
				}
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
		})
	}
	all.Wait()
}
