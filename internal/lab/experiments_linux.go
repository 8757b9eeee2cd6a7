package lab

// All gives the experiments in the order in which they are run and listed.
func All() []Experiment {
	return []Experiment{
		age(), unlink(), exclRename(), removeAll(),
		kill9(), inheritedFlock(), childUnlock(), posixClose(), garbage(), mutexFinalizer(),
		pidReuse(), deletedSpace(), nonBlocking(), twoMounts(), levelLocks(),
		eagain(), lockFileKey(), killMode(), redisSet(), localFallback(),
	}
}
