package policy

// guard names one rule of the machine that can be taken out. Tests take out each in turn and must see a script or the
// search fail: a rule that can go unnoticed is not tested. Outside tests all are in force.
type guard uint8

const (
	none           guard = iota
	finality             // nothing follows an end or a give-up
	monotone             // time does not run backwards
	ownAnswer            // only the round that is awaited is judged
	ownEvidence          // only the evidence that is awaited was taken
	ownExit              // only the end of this life ends it
	inTime               // a result after its time is unknown
	wholeTree            // the end of the leader is not the end of the tree
	stopWins             // nothing starts after a stop was requested
	threshold            // one failing round is not unhealthy
	minFailing           // nor are a few within a short time worth a kill
	unknownNeutral       // an unknown round is not a failing one
	unknownBreaks        // nor does its time count as failing
	gapVoids             // what failed before a clock gap is forgotten
	gapRounds            // and so many rounds must fail after it
	lateRound            // a round that is due long ago is a clock gap
	startupFirst         // health probes wait for the startup probe
	pause                // no probe while evidence is taken
	evidenceFirst        // no kill without evidence
	oneEvidence          // one evidence for an episode
	lookAgain            // after evidence the service is probed once more, now
	reportOnly           // a report kills nothing
	lockFree             // a watch starts only what nobody holds
	freshLock            // as seen in this round
	newHolder            // a new holder starts with a clean sheet
	limit                // a crash loop gives up
	remembers            // a give-up outlives the process
	serveBackoff         // so does a backoff, and a watch has one
	backoffCap           // which has a longest delay
	takenIsWell          // a launch that finds an owner is no failure
	rewake               // an early tick does not lose the timer
	guards               // how many there are
)

// applies reports whether g is in force and its condition is met.
func (m *Machine) applies(g guard, met bool) bool { return met && m.without != g }

// String gives the name of the constant.
func (g guard) String() string {
	return word(g, "none", "finality", "monotone", "ownAnswer", "ownEvidence", "ownExit", "inTime", "wholeTree", "stopWins",
		"threshold", "minFailing", "unknownNeutral", "unknownBreaks", "gapVoids", "gapRounds", "lateRound", "startupFirst",
		"pause", "evidenceFirst", "oneEvidence", "lookAgain", "reportOnly", "lockFree", "freshLock", "newHolder", "limit",
		"remembers", "serveBackoff", "backoffCap", "takenIsWell", "rewake")
}
