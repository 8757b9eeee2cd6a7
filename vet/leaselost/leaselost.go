package leaselost

import (
	_ "embed"
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/solehold/solehold/vet/internal/check"
	"github.com/solehold/solehold/vet/internal/held"
	"github.com/solehold/solehold/vet/internal/locks"
)

//go:embed doc.go
var doc string

// Analyzer makes the analyzer.
func Analyzer() *analysis.Analyzer { return check.New(doc, run) }

func run(p *check.Pass) {
	sessions(p)
	renewals(p)
	for _, c := range p.Calls("redsync.Mutex.Extend", "redsync.Mutex.ExtendContext") {
		if c.Ignored(0) {
			p.Foundf(c, "whether the lock is still ours is thrown away: after a lost lease two work; stop when Extend does not return true")
		}
	}
	for _, c := range p.Calls("redislock.Lock.Refresh") {
		if c.Ignored(0) {
			p.Foundf(c, "whether the lock is still ours is thrown away: after a lost lease two work; stop when Refresh returns an error")
		}
	}
	for _, c := range p.Calls("consul.Lock.Lock", "consul.Semaphore.Acquire") {
		if c.Ignored(0) {
			p.Foundf(c, "the channel that tells the loss of the lock is thrown away: after a lost session two work; stop when it is closed")
		}
	}
}

// sessions reports etcd sessions that carry a lock and whose end nobody reads.
func sessions(p *check.Pass) {
	if len(p.Calls("concurrency.Session.Done")) > 0 {
		return
	}
	for _, c := range p.Calls("concurrency.NewSession") {
		s, body := c.Result(0), held.Body(c.Body())
		if s == nil || body == nil || s.Pos() < body.Pos() || body.End() < s.Pos() {
			continue
		}
		if locksWith(p, c) && !p.Escapes(body, s, func(call *ast.CallExpr) bool { return taker(p.Call(call)) }) {
			p.Foundf(c, "nobody reads Done of this session: when its lease ends another gets the lock and this holder works on; stop when Done is closed")
		}
	}
}

// taker says whether the call makes a lock of a session.
func taker(c *locks.Call) bool {
	if c == nil {
		return false
	}
	switch c.Name {
	case "concurrency.NewMutex", "concurrency.NewLocker", "concurrency.NewElection":
		return true
	}
	return false
}

func locksWith(p *check.Pass, session *locks.Call) bool {
	for _, c := range p.Calls("concurrency.NewMutex", "concurrency.NewLocker", "concurrency.NewElection") {
		if p.Root(c.Args[0]) == session.Result(0) {
			return true
		}
	}
	return false
}

// renewals reports commands that write, renew or delete the key of a Redis lock without asking whose it is.
func renewals(p *check.Pass) {
	for _, taken := range redis(p, "SetNX") {
		for verb, does := range map[string]string{
			"Set": "takes the lock from whoever has it now", "SetEx": "takes the lock from whoever has it now",
			"Expire": "renews the lock of whoever has it now", "PExpire": "renews the lock of whoever has it now",
			"Del": "frees the lock of whoever has it now",
		} {
			for _, c := range redis(p, verb) {
				if p.Same(taken.Args[1], c.Args[1]) {
					p.Found(analysis.Diagnostic{
						Pos: c.Pos(), End: c.End(),
						Message: verb + " on the key of a lock (SetNX at " + p.At(taken) + ") " + does + "; use a script that compares the value first",
						Related: []analysis.RelatedInformation{check.Mark(taken, "taken here")},
					})
				}
			}
		}
	}
}

// redis gives the calls of a command on any kind of client.
func redis(p *check.Pass, verb string) []*locks.Call {
	var all []*locks.Call
	for _, recv := range []string{"Client", "ClusterClient", "UniversalClient", "Cmdable", "StringCmdable", "GenericCmdable", "Ring", "Conn", "cmdable"} {
		for _, c := range p.Calls("redis." + recv + "." + verb) {
			if len(c.Args) > 1 {
				all = append(all, c)
			}
		}
	}
	return all
}
