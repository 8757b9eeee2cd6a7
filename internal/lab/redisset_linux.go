package lab

func redisSet() Experiment {
	const (
		takeover = "another host after the lease of a stopped owner has lapsed"
		set      = "the first one, going on, renews with a plain SET"
		count    = "hosts that believe to own"
		compare  = "the same with compare and renew in one step"
	)
	return Experiment{
		Name:     "redis-set",
		Title:    "a lease on Redis renewed with a plain SET",
		Believed: "The owner renews its lease now and then with SET key me PX ttl. It got the key with NX, so it is its own.",
		Happens: "An owner that stood still (a stopped container, a long collection, a slow disk) comes back after its lease has lapsed and somebody else has the key. " +
			"A plain SET asks nobody: it takes the key away from the new owner, and both are told OK.",
		Advice: "Renew only what is still one's own, in one step (a script that compares, then extends), count the lease from the moment the request was sent, and stop in time " +
			"when no answer comes. Let the resource refuse late writers by a fencing token. Package cluster does all of this.",
		Facts: []Fact{{takeover, gets}, {set, gets}, {count, "2"}, {compare, refused}},
		needs: []need{needRedis()},
		run: func(b *bench) {
			sock := b.engineServer()
			first, second := b.actor(), b.actor()
			const short, long = "300", "600000"
			ttl, wait := long, "lease-take"
			b.decisive(func() { ttl, wait = short, "lease-wait" })
			first.must("lease-take", sock, "a", "first", ttl)
			first.must("lease-take", sock, "b", "first", ttl)
			first.stop()
			next := b.try(takeover, second, wait, sock, "a", "second", long)
			b.attempt(second, wait, sock, "b", "second", long)
			first.goOn()
			b.see(count, got(next)+got(b.try(set, first, "lease-set", sock, "a", "first", long)))
			b.try(compare, first, "lease-compare", sock, "b", "first", long)
		},
	}
}
