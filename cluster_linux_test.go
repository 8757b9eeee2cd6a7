package solehold_test

import (
	"testing"

	"github.com/solehold/solehold"
)

// A holder's lock at a cluster engine is seen by others, and no later token is below the one that its programs had.
func TestClusterToken(t *testing.T) {
	dir := t.TempDir()
	lock, err := solehold.Acquire(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := solehold.Cluster{Engine: "etcd", Key: "/solehold/claim/kb", Token: 812}
	if err := lock.SetCluster(want); err != nil {
		t.Fatal(err)
	}
	s, err := solehold.Inspect(t.Context(), dir, nil)
	if err != nil || s.Record.Cluster == nil || *s.Record.Cluster != want || s.Token != lock.Token() {
		t.Errorf("%+v, %v", s.Record, err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	next, err := solehold.Acquire(t.Context(), dir, nil)
	if err != nil || next.Token() <= want.Token {
		t.Fatal(next.Token(), err)
	}
	if err := next.Release(); err != nil {
		t.Fatal(err)
	}
	if s, err = solehold.Inspect(t.Context(), dir, nil); err != nil || s.Record.Cluster != nil {
		t.Errorf("it is still said to be in the cluster: %+v, %v", s.Record, err)
	}
}
