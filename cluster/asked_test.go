package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/solehold/solehold/cluster"
)

// TestAsked follows a claim from before it is asked for until nobody can need it any more.
func TestAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a cluster.Asked
		if _, ok := a.Get("n"); ok || len(a.All()) != 0 {
			t.Error("the zero value is not empty")
		}
		a.Own("n") // nobody asked for it
		a.Leave("n", time.Second)
		if len(a.All()) != 0 {
			t.Error("remembered without a request")
		}
		asked := a.Ask(cluster.Request{Name: "a", Nonce: "n", Delay: time.Second, Info: "me"})
		if got, ok := a.Get("n"); !ok || got != asked || got.Owned || got.Name != "a" || got.Record.Nonce != "n" || got.Record.DelayMS != 1000 {
			t.Errorf("asked for: %+v", got)
		}
		a.Own("n")
		all := a.All()
		delete(all, "n") // it is a copy
		if got, _ := a.Get("n"); !got.Owned {
			t.Errorf("granted: %+v", got)
		}
		a.Leave("n", 10*time.Second)
		<-time.After(9 * time.Second)
		if got, ok := a.Get("n"); !ok || got.Owned || got.Record != asked.Record {
			t.Errorf("given back, and a request may still be on its way: %+v, %v", got, ok)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if got, ok := a.Get("n"); ok {
			t.Errorf("remembered for ever: %+v", got)
		}
	})
}
