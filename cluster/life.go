package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// LivesKept is how many lives of a lock an engine keeps at least. It keeps no more than twice as many: the oldest give way.
const LivesKept = 20

// How a life has ended.
const (
	// Released is one whose work had ended.
	Released = "released"
	// Withdrawn is one that was given back before anybody worked.
	Withdrawn = "withdrawn"
	// Expired is one that nobody gave back: the next owner has written it.
	Expired = "expired"
	// Broken is one that an operator has ended, and Why says who and why.
	Broken = "broken"
	// Raised is no life but an operator's word: later tokens are above Token.
	Raised = "raised"
)

// Life is one tenure of a lock. It is a label for those who look later: nothing is decided by it.
type Life struct {
	// Token is its fencing token.
	Token uint64 `json:"token"`
	// End is how it ended; "" for the present one.
	End string `json:"end,omitempty"`
	// Since and Until are when, by the clocks of those who wrote it: the holder's for Since, and for Until that of whoever
	// has written the end. RFC 3339 in UTC.
	Since string `json:"since,omitempty"`
	Until string `json:"until,omitempty"`
	// Info is the holder's word about itself.
	Info string `json:"info,omitempty"`
	// Why is an operator's reason.
	Why string `json:"why,omitempty"`
	// Next is, of an expired one, the token of the owner that found it so.
	Next uint64 `json:"next,omitempty"`
	// Nonce is the claim's, where the engine keeps it: one claim has one life.
	Nonce string `json:"nonce,omitempty"`
}

// Chronicler is a backend that keeps what has become of the claims of a lock.
type Chronicler interface {
	// Lives gives the lives of a lock that have ended, oldest first. A life is written with the release or the break that
	// ends it where the engine can do so at once, else right after it; an expiry by the next owner, right after its claim.
	Lives(ctx context.Context, name string) ([]Life, error)
}

// Moment is the time of day as a life has it.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// LifeOf gives the life of a claim that ends now.
func LifeOf(r Record, token uint64, end string) Life {
	return Life{Token: token, End: end, Since: r.Since, Until: Moment(time.Now()), Info: r.Info, Why: r.Broken, Nonce: r.Nonce}
}

// Given is the end of a claim that its holder gives back.
func Given(clean bool) string {
	if clean {
		return Released
	}
	return Withdrawn
}

// LifeBefore gives the life of a predecessor that has left this text, if nobody else has written its end. next is the
// token of the owner that asks.
func LifeBefore(last string, token, next uint64) (l Life, ok bool) {
	r, err := ParseRecord(last)
	if err != nil || r.Ended || r.Broken != "" {
		return Life{}, false
	}
	l = LifeOf(r, token, Expired)
	l.Next = next
	return l, true
}

// Later has a life written in the background, and within a time: who has the lock now need not wait for it.
func Later(within time.Duration, write func(context.Context)) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		write(ctx)
	}()
}

// Text gives the life as it is written.
func (l Life) Text() string {
	b, err := json.Marshal(l)
	if err != nil { // a struct of texts and numbers
		return ""
	}
	return string(b)
}

// ReadLives puts together what engines keep: in the order of tokens, one for each claim, and the last ones only. Where a
// claim has an end that its holder or an operator wrote, that it was found expired says nothing.
func ReadLives(texts []string) []Life {
	var all []Life
	for _, t := range texts {
		var l Life
		if json.Unmarshal([]byte(t), &l) == nil && l.End != "" {
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, func(a, b Life) int {
		return cmp.Or(cmp.Compare(a.Token, b.Token), cmp.Compare(rank(a), rank(b)))
	})
	nonces := map[string]bool{}
	all = slices.DeleteFunc(all, func(l Life) bool {
		again := l.Nonce != "" && nonces[l.Nonce]
		nonces[l.Nonce] = true
		return again
	})
	return all[max(0, len(all)-LivesKept):]
}

// rank is 1 for what is only concluded.
func rank(l Life) int {
	if l.End == Expired {
		return 1
	}
	return 0
}
