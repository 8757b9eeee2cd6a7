package lease

import "slices"

// Kept is what a data directory keeps of its sticky claim. All but the numbers are digests or random.
type Kept struct {
	// Lock tells the engine and the name apart.
	Lock string `json:"lock"`
	// Nonce is the claim's at the engine.
	Nonce string `json:"nonce"`
	// Token is the claim's, once its owner may work; 0 while it is only known that it was asked for.
	Token uint64 `json:"token,omitempty"`
	// Host tells the machine and the directory on it apart, over its reboots; "" where that cannot be known.
	Host string `json:"host,omitempty"`
	// Places are the boots of the machine in which this claim may have been taken on at the engine, the last one first.
	Places []Place `json:"places"`
}

// Place is one boot of one machine, and one directory there.
type Place struct {
	// Boot is the machine's boot.
	Boot string `json:"b"`
	// Dir is the directory in it.
	Dir string `json:"d"`
}

// Self is what is known of the host and directory that want to use what was kept.
type Self struct {
	// Lock and Host are as in [Kept].
	Lock, Host string
	// Place is where we are.
	Place Place
}

// Standing is what a kept claim is to who has found it.
type Standing uint8

const (
	// Nothing was kept.
	Nothing Standing = iota
	// Asked is a claim that may be at the engine, by this place.
	Asked
	// Ours is a claim of this directory, in this boot or one before: whoever worked under it is dead, because the lock of
	// the directory was had, or the boot is over.
	Ours
	// OtherLock is a claim of another lock.
	OtherLock
	// Copied is a claim of another directory of this very boot.
	Copied
	// OtherHost is a claim of another machine, or of another directory of this one.
	OtherHost
	// Unproven is a claim of another boot, of a machine that cannot be told from its copies.
	Unproven
	// TooOften is a claim that was used in too many boots without a word of the engine.
	TooOften
)

// String gives the word for scripts and tests.
func (s Standing) String() string {
	return word(s, "nothing", "asked", "ours", "other-lock", "copied", "other-host", "unproven", "too-often")
}

// MaxPlaces is how many boots may go by without a word of the engine: the file is small.
const MaxPlaces = 6

// Judge tells what a kept claim is to us. The lock of the directory must have been had. A claim that was only asked for is
// no claim to who has found a copy: it asks for its own.
func (k Kept) Judge(me Self) Standing { return k.judge(me, keptNone) }

func (k Kept) judge(me Self, without keptGuard) Standing {
	applies := func(g keptGuard, met bool) bool { return met && without != g }
	here := slices.Contains(k.Places, me.Place)
	boot := slices.ContainsFunc(k.Places, func(p Place) bool { return p.Boot == me.Place.Boot })
	switch {
	case k.Nonce == "":
		return Nothing
	case k.Token == 0 && applies(keptAsked, true):
		if k.Lock == me.Lock && here {
			return Asked
		}
		return Nothing
	case applies(keptLock, k.Lock != me.Lock):
		return OtherLock
	case here:
		return Ours
	case applies(keptBoot, boot):
		return Copied
	case applies(keptProof, me.Host == "" || k.Host == ""):
		return Unproven
	case applies(keptHost, k.Host != me.Host):
		return OtherHost
	case len(k.Places) >= MaxPlaces:
		return TooOften
	}
	return Ours
}

// At gives what is to be kept before the engine is asked from a place.
func (k Kept) At(p Place) Kept {
	before := slices.DeleteFunc(slices.Clone(k.Places), func(q Place) bool { return q == p })
	k.Places = append([]Place{p}, before...)
	return k
}

// Settled gives what is to be kept when the engine has said that the claim is ours, at this place.
func (k Kept) Settled(p Place, token uint64) Kept {
	k.Token, k.Places = token, []Place{p}
	return k
}

// IsSettled reports whether nobody can have had this claim but a place: the engine has said so, and no other start came after.
func (k Kept) IsSettled(p Place) bool { return k.Token != 0 && len(k.Places) == 1 && k.Places[0] == p }

// keptGuard names one rule of [Kept.Judge] that can be taken out by tests.
type keptGuard uint8

const (
	keptNone   keptGuard = iota
	keptAsked            // what was only asked for is no claim
	keptLock             // a claim is that of its lock
	keptBoot             // a copy in the same boot is not a machine that has started anew
	keptProof            // a machine that cannot be told from its copies proves nothing
	keptHost             // another machine is another machine
	keptGuards           // how many there are
)

// String gives the name of the constant.
func (g keptGuard) String() string {
	return word(g, "keptNone", "keptAsked", "keptLock", "keptBoot", "keptProof", "keptHost")
}

// stickyGuard names one rule of [Sticky] that can be taken out by tests.
type stickyGuard uint8

const (
	stickyNone    stickyGuard = iota
	stickyAwaited             // an answer that nobody awaits makes no owner
	stickyRising              // nor does a token that is not above the floor
	stickyDelay               // an owner waits, because the one before may not have heard yet
	stickySettled             // also for a copy of itself
	stickyLook                // and looks whether the claim is still there
	stickyGone                // the owner is told when it is not
	stickyKill                // who does not end is killed
	stickyStop                // and in the end the shell ends itself
	stickyGuards              // how many there are
)

// String gives the name of the constant.
func (g stickyGuard) String() string {
	return word(g, "stickyNone", "stickyAwaited", "stickyRising", "stickyDelay", "stickySettled", "stickyLook", "stickyGone",
		"stickyKill", "stickyStop")
}

// applies reports whether g is in force and its condition is met.
func (s *Sticky) applies(g stickyGuard, met bool) bool { return met && s.without != g }
