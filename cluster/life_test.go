package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/solehold/solehold/cluster"
)

// One claim has one life: what its holder or an operator wrote about its end counts before what was concluded, in whatever
// order it was written. What is not a life is left out, and the oldest give way.
func TestReadLives(t *testing.T) {
	t.Parallel()
	life := func(token uint64, nonce, end string) string {
		return cluster.Life{Token: token, Nonce: nonce, End: end}.Text()
	}
	got := func(texts ...string) string {
		var all []string
		for _, l := range cluster.ReadLives(texts) {
			all = append(all, fmt.Sprint(l.Token, l.End))
		}
		return strings.Join(all, " ")
	}
	for want, texts := range map[string][]string{
		"1released 2expired":  {life(2, "b", cluster.Expired), life(1, "a", cluster.Released)},
		"3withdrawn":          {life(3, "a", cluster.Expired), life(3, "a", cluster.Withdrawn)},
		"3broken":             {life(3, "a", cluster.Broken), life(3, "a", cluster.Expired)},
		"4released 4raised":   {life(4, "a", cluster.Released), life(4, "", cluster.Raised)},
		"5released 6released": {life(5, "", cluster.Released), "not a life", "{}", "", life(6, "", cluster.Released)},
		"":                    nil,
	} {
		if all := got(texts...); all != want {
			t.Errorf("%q: got %q, want %q", texts, all, want)
		}
	}
	var many []string
	for i := range 3 * cluster.LivesKept {
		many = append(many, life(uint64(i), "", cluster.Released))
	}
	if all := cluster.ReadLives(many); len(all) != cluster.LivesKept || all[0].Token != 2*cluster.LivesKept {
		t.Errorf("%d lives, the first %+v", len(all), all[0])
	}
}

// A predecessor has expired unless it, or an operator, has said otherwise.
func TestLifeBefore(t *testing.T) {
	t.Parallel()
	r := cluster.RecordOf(cluster.Request{Name: "a", Nonce: "n", Info: "host a", Since: "2026-01-02T03:04:05.000Z"})
	ended, broken := r, r
	ended.Ended, broken.Broken = true, "by me"
	for text, want := range map[string]bool{"": false, "other's": false, r.Text(): true, ended.Text(): false, broken.Text(): false} {
		l, ok := cluster.LifeBefore(text, 7, 9)
		if ok != want {
			t.Errorf("%q: %+v, %t", text, l, ok)
		}
		if ok && (l.Token != 7 || l.Next != 9 || l.End != cluster.Expired || l.Since != r.Since || l.Info != r.Info || l.Until == "") {
			t.Errorf("%+v", l)
		}
	}
}
