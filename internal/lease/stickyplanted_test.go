package lease_test

import (
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// stickyFault is one rule taken out, and what a search then finds.
type stickyFault struct {
	out    stickyOut
	search string
	why    string
}

func stickyFaults() map[string]stickyFault {
	sticky := func(g string) stickyOut { return stickyOut{sticky: stickyNamed(g)} }
	kept := func(g string) stickyOut { return stickyOut{kept: keptNamed(g)} }
	return map[string]stickyFault{
		"stickyAwaited": {sticky("stickyAwaited"), "", ""},
		"stickyRising":  {sticky("stickyRising"), "", ""},
		"stickyDelay":   {sticky("stickyDelay"), "broken", "two owners"},
		"stickySettled": {sticky("stickySettled"), "copied", "two owners"},
		"stickyLook":    {sticky("stickyLook"), "owned", "waits for ever"},
		"stickyGone":    {sticky("stickyGone"), "owned", "two owners"},
		"stickyKill":    {sticky("stickyKill"), "broken", "waits for ever"},
		"stickyStop":    {sticky("stickyStop"), "", ""},
		"keptAsked":     {kept("keptAsked"), "", ""},
		"keptLock":      {kept("keptLock"), "", ""},
		"keptBoot":      {kept("keptBoot"), "twin", "two owners"},
		"keptProof":     {kept("keptProof"), "", ""},
		"keptHost":      {kept("keptHost"), "elsewhere", "two owners"},

		"the engine does not look at places":         {stickyOut{engine: "place"}, "copied", "two owners"},
		"the engine does not look at nonces":         {stickyOut{engine: "nonce"}, "owned", "lost by itself"},
		"a broken claim stays on the disk":           {stickyOut{disk: "lost"}, "told", "token 1 after 2"},
		"a place is written after the engine has it": {stickyOut{disk: "late"}, "reboot", "lost by itself"},
	}
}

// TestStickyPlanted takes out each rule of the machine, of what is kept and of the engine, and must see two owners.
func TestStickyPlanted(t *testing.T) {
	starts := stickyStarts()
	for name, f := range stickyFaults() {
		if f.search == "" {
			continue // a table or a script notices: see below
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := stickySearch(f.out, starts[f.search], 20_000).found; err == nil || !strings.Contains(err.Error(), f.why) {
				t.Errorf("the search %s finds %v, want %q", f.search, err, f.why)
			}
		})
	}
}

// TestEachStickyRuleIsPlanted finds a rule without a planted fault.
func TestEachStickyRuleIsPlanted(t *testing.T) {
	have := stickyFaults()
	for _, g := range lease.StickyGuards() {
		if _, ok := have[g.String()]; !ok {
			t.Errorf("no fault is planted for %v", g)
		}
	}
	for _, g := range lease.KeptGuards() {
		if _, ok := have[g.String()]; !ok {
			t.Errorf("no fault is planted for %v", g)
		}
	}
}

func stickyNamed(name string) lease.StickyGuard {
	for _, g := range lease.StickyGuards() {
		if g.String() == name {
			return g
		}
	}
	return 0
}

func keptNamed(name string) lease.KeptGuard {
	for _, g := range lease.KeptGuards() {
		if g.String() == name {
			return g
		}
	}
	return 0
}

// stickyScript steps a claim and gives what it says, but for its timer.
func stickyScript(t *testing.T, c lease.StickyConfig, out lease.StickyGuard, steps []lease.Input, at ...int) string {
	t.Helper()
	s, err := lease.NewSticky(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.Without(out)
	var said []string
	for i, in := range steps {
		for _, c := range s.Step(time.Duration(at[i])*unit, in) {
			if c.Op != lease.Wake {
				said = append(said, c.String())
			}
		}
	}
	return strings.Join(said, "; ")
}

// What no search sees is seen by what a claim says.
func TestStickyScripts(t *testing.T) {
	t.Parallel()
	fresh := lease.StickyConfig{TTL: ttl, Limit: 5 * unit, Floor: 7}
	known := lease.StickyConfig{TTL: ttl, Limit: 5 * unit, Token: 9, Settled: true}
	away := known
	away.Away = true
	open := lease.Input{Kind: lease.Open}
	claimed := func(token uint64, id uint64) lease.Input {
		return lease.Input{Kind: lease.Claimed, Token: token, For: id, Clean: true}
	}
	acked := func(id uint64) lease.Input { return lease.Input{Kind: lease.Acked, For: id} }
	tick, gone := lease.Input{Kind: lease.Tick}, lease.Input{Kind: lease.ClaimGone}
	for name, c := range map[string]struct {
		config lease.StickyConfig
		steps  []lease.Input
		at     []int
		want   string
		guard  string // without it something else is said
	}{
		"a token that rises":         {fresh, []lease.Input{open, claimed(8, 1)}, []int{0, 1}, "ask #1; own token=8", ""},
		"one that does not":          {fresh, []lease.Input{open, claimed(7, 1)}, []int{0, 1}, "ask #1; release #2 token=7: token; reject: token", "stickyRising"},
		"an answer of nobody":        {fresh, []lease.Input{open, claimed(8, 5)}, []int{0, 1}, "ask #1", "stickyAwaited"},
		"somebody has it":            {fresh, []lease.Input{open, {Kind: lease.Refused, For: 1}}, []int{0, 1}, "ask #1; reject: held; end", ""},
		"silence":                    {fresh, []lease.Input{open, tick, tick}, []int{0, 4, 5}, "ask #1; ask #2; reject: ungranted; end", ""},
		"silence, but known":         {known, []lease.Input{open, tick}, []int{0, 5}, "verify #1 token=9; reject: ungranted; end", ""},
		"silence, known and allowed": {away, []lease.Input{open, tick}, []int{0, 5}, "verify #1 token=9; own token=9; verify #2 token=9", ""},
		"known":                      {known, []lease.Input{open, acked(1)}, []int{0, 1}, "verify #1 token=9; own token=9", ""},
		"broken meanwhile":           {known, []lease.Input{open, gone}, []int{0, 1}, "verify #1 token=9; reject: claim-gone; end", ""},
		"silence for a long time":    {known, []lease.Input{open, acked(1), tick, tick, tick}, []int{0, 1, 4, 100, 1000}, "verify #1 token=9; own token=9; verify #2 token=9; verify #3 token=9; verify #4 token=9", ""},
		"told, killed, stopped": {
			known,
			[]lease.Input{open, acked(1), gone, tick, tick, tick},
			[]int{0, 1, 2, 5, 6, 8},
			"verify #1 token=9; own token=9; tell token=9: claim-gone; kill token=9; fail-stop token=9", "stickyStop",
		},
		"told for good": {
			known,
			[]lease.Input{open, acked(1), gone, {Kind: lease.Acked, For: 0}, tick},
			[]int{0, 1, 2, 3, 6},
			"verify #1 token=9; own token=9; tell token=9: claim-gone; kill token=9", "",
		},
		"the work ends": {
			known,
			[]lease.Input{open, acked(1), {Kind: lease.Stopped}, acked(2)},
			[]int{0, 1, 2, 3},
			"verify #1 token=9; own token=9; release #2 token=9 clean; end", "",
		},
	} {
		if got := stickyScript(t, c.config, 0, c.steps, c.at...); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		if c.guard != "" && stickyScript(t, c.config, stickyNamed(c.guard), c.steps, c.at...) == c.want {
			t.Errorf("%s: does not notice that %s is out", name, c.guard)
		}
	}
	if _, err := lease.NewSticky(lease.StickyConfig{TTL: ttl, Delay: ttl - 1}, 0); err == nil {
		t.Error("a delay shorter than the time in which a holder is told and dead")
	}
}

// TestKept tells what a claim that was found on a disk is to who has found it.
func TestKept(t *testing.T) {
	t.Parallel()
	at := func(boot, dir string) lease.Place { return lease.Place{Boot: boot, Dir: dir} }
	me := lease.Self{Lock: "l", Host: "h", Place: at("b1", "d1")}
	many := make([]lease.Place, lease.MaxPlaces)
	for name, c := range map[string]struct {
		kept  lease.Kept
		want  lease.Standing
		guard string
	}{
		"nothing":           {lease.Kept{}, lease.Nothing, ""},
		"asked":             {lease.Kept{Lock: "l", Nonce: "n", Places: []lease.Place{me.Place}}, lease.Asked, "keptAsked"},
		"asked elsewhere":   {lease.Kept{Lock: "l", Nonce: "n", Host: "h", Places: []lease.Place{at("b0", "d1")}}, lease.Nothing, "keptAsked"},
		"asked for another": {lease.Kept{Lock: "m", Nonce: "n", Places: []lease.Place{me.Place}}, lease.Nothing, "keptAsked"},
		"ours":              {lease.Kept{Lock: "l", Nonce: "n", Token: 1, Places: []lease.Place{me.Place}}, lease.Ours, ""},
		"another lock":      {lease.Kept{Lock: "m", Nonce: "n", Token: 1, Places: []lease.Place{me.Place}}, lease.OtherLock, "keptLock"},
		"a reboot":          {lease.Kept{Lock: "l", Nonce: "n", Token: 1, Host: "h", Places: []lease.Place{at("b0", "d7")}}, lease.Ours, ""},
		"a copy":            {lease.Kept{Lock: "l", Nonce: "n", Token: 1, Host: "h", Places: []lease.Place{at("b1", "d0")}}, lease.Copied, "keptBoot"},
		"another machine":   {lease.Kept{Lock: "l", Nonce: "n", Token: 1, Host: "g", Places: []lease.Place{at("b0", "d1")}}, lease.OtherHost, "keptHost"},
		"no proof":          {lease.Kept{Lock: "l", Nonce: "n", Token: 1, Places: []lease.Place{at("b0", "d1")}}, lease.Unproven, "keptProof"},
		"too often":         {lease.Kept{Lock: "l", Nonce: "n", Token: 1, Host: "h", Places: many}, lease.TooOften, ""},
	} {
		if got := c.kept.Judge(me); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if c.guard != "" && c.kept.JudgeWithout(me, keptNamed(c.guard)) == c.want {
			t.Errorf("%s: does not notice that %s is out", name, c.guard)
		}
	}
	k := lease.Kept{Lock: "l", Nonce: "n", Token: 1, Host: "h", Places: []lease.Place{at("b0", "d1")}}.At(me.Place).At(me.Place)
	if len(k.Places) != 2 || k.IsSettled(me.Place) || !k.Settled(me.Place, 1).IsSettled(me.Place) || k.Settled(me.Place, 0).IsSettled(me.Place) {
		t.Errorf("%+v", k)
	}
}
