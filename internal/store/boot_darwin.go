package store

import "syscall"

// bootID names the machine's present run; "" where it cannot be told. Untested
// on a real machine.
func bootID() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
