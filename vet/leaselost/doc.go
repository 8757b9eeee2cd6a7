// Package leaselost reports a lock at an engine whose loss nobody would notice, or that is renewed without asking whose
// it is.
//
// A lease ends when the engine says so: after a long pause, a partition, a restart. The holder must be told, and a
// renewal must fail where another has taken over.
//
// WRONG
//
//	s, err := concurrency.NewSession(client) // etcd; s.Done() is read nowhere
//	rdb.SetNX(ctx, key, id, ttl)
//	...
//	rdb.Set(ctx, key, id, ttl) // takes back what another has now
//	mutex.Extend() // redsync; whether it is still ours is thrown away
//	_, err := lock.Lock(nil) // Consul; the channel that tells the loss is thrown away
//
// RIGHT
//
//	case <-s.Done(): // stop the work
//	compareAndExpire.Run(ctx, rdb, []string{key}, id, ttl) // a script: is it mine, then renew
//	if ok, err := mutex.Extend(); !ok || err != nil { // stop the work
//	lost, err := lock.Lock(nil)
//	...
//	case <-lost: // stop the work
//
// A session that is returned or stored is its owner's to watch and is not reported, nor is any session of a package that
// reads Done somewhere. Keys of Redis are compared as far as they can be followed.
package leaselost
