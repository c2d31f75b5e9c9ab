package host

import (
	"reflect"
	"testing"
)

// Whatever a waiter knows is handed to the next host, or it is said here why it need not
// be.
func TestWaitersAreHandedOnWhole(t *testing.T) {
	notCarried := map[string]string{
		"wake": "new in each host", "done": "new in each host", "from": "follows from the session's position",
		"echo": "read again from the output",
	}
	carried := map[string]bool{}
	for f := range reflect.TypeFor[carriedWait]().Fields() {
		carried[f.Name] = true
	}
	for f := range reflect.TypeFor[waiter]().Fields() {
		name := string(f.Name[0]-'a'+'A') + f.Name[1:]
		if carried[name] == (notCarried[f.Name] != "") {
			t.Errorf("waiter's %s: carried %v, and not to be: %q", f.Name, carried[name], notCarried[f.Name])
		}
		delete(carried, name)
	}
	for name := range carried {
		t.Errorf("%s is no field of a waiter", name)
	}
}
