package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A request is there from before its effect until it has been answered, whatever
// process looks.
func TestRequests(t *testing.T) {
	s := newStore(t)
	first := Request{ID: "a", Session: id(1), CreatedAt: t0, Text: "do\x00it\n", State: []byte(`{"phase":"queued"}`)}
	second := Request{ID: "b", Session: id(2), CreatedAt: t0.Add(time.Second)}
	for _, r := range []Request{second, first} {
		if err := s.PutRequest(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutRequest(Request{ID: "a", Session: id(3)}); err == nil {
		t.Error("two requests of one name")
	}
	first.State = []byte("typed")
	if err := s.UpdateRequest("a", first.State); err != nil {
		t.Fatal(err)
	}
	if err := s.UpdateRequest("c", nil); err == nil {
		t.Error("a request that is not stored was updated")
	}
	want := func(want ...Request) {
		t.Helper()
		got, err := s.Requests()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	want(first, second)
	s = reopen(t, s)
	want(first, second)
	for _, id := range []string{"a", "c"} {
		if err := s.RemoveRequest(id); err != nil {
			t.Fatal(err)
		}
	}
	want(second)
}

// A session and the request that it is started for are one: neither is stored without
// the other, and none is left of a start that failed.
func TestRequestOfASession(t *testing.T) {
	s := newStore(t)
	p := addProject(t, s, "/a")
	r := Request{ID: "a", Session: id(1), CreatedAt: t0, Text: "hello"}
	if err := s.PutSession(Session{ID: id(1), ProjectID: p.ID}, r); err != nil {
		t.Fatal(err)
	}
	if err := s.PutSession(Session{ID: id(2), ProjectID: p.ID}, r); err == nil {
		t.Error("two requests of one name")
	}
	if _, found, err := s.Session(id(2)); err != nil || found {
		t.Errorf("session without its request: %v, %v", found, err)
	}
	if got, err := s.Requests(); err != nil || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := s.ForgetSession(id(1)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Requests(); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
