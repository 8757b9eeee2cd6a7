package lease

// guard names one rule of the machine that can be taken out: most are the bugs of lock clients in the field. Tests take
// out each in turn and must see a script or the search fail: a rule that can go unnoticed is not tested. Outside tests all
// are in force.
type guard uint8

const (
	none          guard = iota
	monotone            // time does not run backwards
	fromSend            // a renewal counts from when it was sent, not from when its answer came
	ownAnswer           // and an answer counts for its own renewal, not for the last one
	localDeadline       // the owner is told by its own clock, not only by the engine
	final               // who was told is no owner any more, whatever is acknowledged later
	killInTime          // who does not end is killed
	stopInTime          // and in the end the shell ends itself
	inTime              // a claim that comes when the lease has no time left makes no owner
	awaited             // nor does an answer that nobody awaits
	rising              // nor a token that is not above the floor
	delay               // an owner waits when its predecessor did not release cleanly
	longerDelay         // for as long as the predecessor asked, if that is longer
	stoppedFirst        // a claim is given back after the work has ended
	leftLast            // so is a lease
	resolve             // a claim with an unknown answer is asked for again
	withdraw            // and one that nobody wants any more is withdrawn
	withdrawAgain       // until the engine has said so
	lateAsk             // and once more if a request may still have been on its way
	honestRelease       // a claim that never worked does not release its predecessor
	leaseGone           // the engine's word that the lease is gone is told
	claimGone           // so is a claim that is not ours any more
	verify              // which is looked for
	doubtFreezes        // a clock that may have stood still freezes the work
	doubtFresh          // until a renewal from after it is acknowledged
	overIsOver          // a lease that is over takes no claim
	rewake              // an early tick does not lose the timer
	guards              // how many there are
)

// applies reports whether g is in force and its condition is met.
func (m *Machine) applies(g guard, met bool) bool { return met && m.without != g }

// String gives the name of the constant.
func (g guard) String() string {
	return word(g, "none", "monotone", "fromSend", "ownAnswer", "localDeadline", "final", "killInTime", "stopInTime", "inTime",
		"awaited", "rising", "delay", "longerDelay", "stoppedFirst", "leftLast", "resolve", "withdraw", "withdrawAgain",
		"lateAsk", "honestRelease", "leaseGone", "claimGone", "verify", "doubtFreezes", "doubtFresh", "overIsOver", "rewake")
}
