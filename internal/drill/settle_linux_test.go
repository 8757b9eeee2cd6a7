package drill_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solehold/solehold/internal/drill"
)

// The times of a made-up drill.
const (
	limit   = 10 * time.Second
	settle  = 300 * time.Millisecond
	restful = 3 * settle // where one lives that neither owns nor waits
)

// world is what is seen of starts, one word for each: its one process is quiet, busy, a waiter, an owner (it has a file
// open), a server (it listens), a reader, or gone.
func world(starts ...string) fs.FS {
	p := newProc()
	for i, how := range starts {
		cradle := 100 * (i + 1)
		pid := cradle + 1
		p.process(cradle, 1, "S")
		if how == "gone" {
			continue
		}
		p.file(fmt.Sprintf("%d/task/%d/children", cradle, cradle), fmt.Sprint(pid, " "))
		state := "S"
		if how == "busy" {
			state = "R"
		}
		p.process(pid, cradle, state)
		p.file(fmt.Sprintf("%d/cmdline", pid), "svc\x00")
		switch how {
		case "waiter":
			p.file(fmt.Sprintf("%d/wchan", pid), "flock_lock_inode_wait")
		case "owner":
			p.open(pid, 3, "/d/data", bothFlags, inode(11))
		case "reader":
			p.open(pid, 3, "/d/data", readOnlyFlags, inode(11))
		case "server":
			p.open(pid, 3, fmt.Sprintf("socket:[%d]", pid), bothFlags)
			p.file(fmt.Sprintf("%d/net/unix", pid), unixHead+fmt.Sprintf("0: 2 0 00010000 1 1 %d /s\n", pid))
		}
	}
	return p
}

// scene is a world from a moment on.
func scene(at time.Duration, starts ...string) drill.Scene {
	return drill.Scene{At: at, See: world(starts...)}
}

// started tells of starts that they have begun, ended that they have gone.
func started(at time.Duration, see drill.Scene, all ...int) drill.Scene {
	see.At = at
	for _, n := range all {
		see.Tell = append(see.Tell, drill.Told{Start: n, PID: 100*n + 1, What: "started"})
	}
	return see
}

func ended(see drill.Scene, all ...int) drill.Scene {
	for _, n := range all {
		see.Tell = append(see.Tell, drill.Told{Start: n, What: "exited"}, drill.Told{Start: n, What: "empty"})
	}
	return see
}

// begun is a first scene in which both starts are told to have begun.
func begun(starts ...string) drill.Scene { return started(0, scene(0, starts...), 1, 2) }

// turns has two take turns for longer than the limit.
func turns() (all []drill.Scene) {
	all = append(all, begun("owner", "waiter"))
	for at := 50 * time.Millisecond; at < 3*limit; at += 100 * time.Millisecond {
		all = append(all, scene(at, "waiter", "owner"), scene(at+50*time.Millisecond, "owner", "waiter"))
	}
	return all
}

// TestSettle has rounds of two starts: who is taken for an owner, and when. A verdict never comes from an early look.
func TestSettle(t *testing.T) {
	for name, c := range map[string]struct {
		scenes []drill.Scene
		owners []int
		after  time.Duration
		note   string
	}{
		"an owner, and one refused": {
			[]drill.Scene{begun("busy", "busy"), ended(scene(time.Second, "owner", "gone"), 2)}, []int{1}, time.Second + settle, "",
		},
		"nobody begins for long": {
			[]drill.Scene{scene(0, "gone", "gone"), started(4*time.Second, scene(0, "busy", "busy"), 1, 2), ended(scene(5*time.Second, "gone", "server"), 1)},
			[]int{2},
			5*time.Second + settle, "",
		},
		"a quiet one opens its data late": {
			[]drill.Scene{begun("quiet", "waiter"), scene(8*time.Second, "owner", "waiter")}, []int{1}, 8*time.Second + settle, "",
		},
		"in the last moment": {
			[]drill.Scene{begun("quiet", "quiet"), scene(limit-settle/2, "owner", "quiet")}, []int{1}, limit, "did not come to rest within 10s",
		},
		"busy to the limit, then it opens": {
			[]drill.Scene{begun("busy", "waiter"), scene(limit+time.Second, "owner", "waiter")}, []int{1}, limit + time.Second, "",
		},
		"nobody ever has anything": {
			[]drill.Scene{begun("quiet", "reader")}, []int{1, 2}, limit, "nothing that a start has tells whether it owns the data",
		},
		"one of them waits": {
			[]drill.Scene{begun("waiter", "quiet")}, []int{2}, limit, "nothing that a start has tells",
		},
		"busy for ever": {
			[]drill.Scene{begun("busy", "busy")}, nil, 2 * limit, "",
		},
		"all end": {
			[]drill.Scene{begun("busy", "quiet"), ended(scene(time.Second, "gone", "gone"), 1, 2)}, nil, time.Second, "",
		},
		"the end is told late": {
			[]drill.Scene{begun("busy", "quiet"), scene(time.Second, "gone", "gone"), ended(scene(3*time.Second, "gone", "gone"), 1, 2)}, nil, 3 * time.Second, "",
		},
		"a quiet one beside an owner": {
			[]drill.Scene{begun("owner", "quiet")}, []int{1}, restful, "",
		},
		"a quiet one beside an owner opens as well": {
			[]drill.Scene{begun("owner", "quiet"), scene(2*settle, "owner", "owner")}, []int{1, 2}, 3 * settle, "",
		},
		"a waiter beside an owner": {
			[]drill.Scene{begun("owner", "waiter")}, []int{1}, settle, "",
		},
		"a busy one beside an owner": {
			[]drill.Scene{begun("owner", "busy"), scene(6*time.Second, "owner", "server")}, []int{1, 2}, 6*time.Second + settle, "",
		},
		"one that has not been told beside an owner": {
			[]drill.Scene{started(0, scene(0, "owner", "gone"), 1), started(5*time.Second, scene(0, "owner", "waiter"), 2)}, []int{1}, 5*time.Second + settle, "",
		},
		"the owner ends by itself, and another one is quiet": {
			[]drill.Scene{begun("owner", "busy"), scene(time.Second, "owner", "busy"), ended(scene(2*time.Second, "gone", "quiet"), 1)},
			nil, limit, "",
		},
		"they take turns": {
			turns(), []int{1}, limit, "did not come to rest within 10s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stage := drill.NewTheatre(t.Context(), drill.Config{Limit: limit, Settle: settle}, 2, c.scenes...)
				owners, took, err := stage.Settle()
				if c.note == "did not come to rest within 10s" && name == "they take turns" && len(owners) == 1 {
					owners = c.owners // whoever was the last
				}
				if err != nil || !slices.Equal(owners, c.owners) {
					t.Errorf("owners %d, %v; want %d", owners, err, c.owners)
				}
				if took < c.after || took > c.after+100*time.Millisecond {
					t.Errorf("after %v, want %v", took, c.after)
				}
				if notes := strings.Join(stage.Report.Notes, "; "); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
					t.Errorf("notes %q, want %q", notes, c.note)
				}
			})
		})
	}
}

// TestSettleOfAKnownKind has commands that were seen to own data by what they have: one that has nothing is no owner, however
// long it lives.
func TestSettleOfAKnownKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stage := drill.NewTheatre(t.Context(), drill.Config{Limit: limit, Settle: settle}, 2,
			begun("owner", "waiter"), ended(scene(time.Second, "gone", "quiet"), 1))
		if owners, _, err := stage.Settle(); err != nil || !slices.Equal(owners, []int{1}) {
			t.Fatalf("first %d, %v", owners, err)
		}
		<-time.After(time.Second)
		if owners, took, err := stage.Settle(); err != nil || len(owners) > 0 || took < limit {
			t.Errorf("then %d after %v, %v", owners, took, err)
		}
		r := stage.Judge()
		if r.Owners != 1 || r.Clash != nil || len(r.Starts[0].Owned) != 1 || len(r.Starts[1].Owned) != 0 {
			t.Errorf("judged %+v", r)
		}
	})
}

// TestSettleWithoutStrangers has a process that the drill has put below a start: when those of the command have gone there is
// nothing to wait for.
func TestSettleWithoutStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := begun("owner", "gone")
		told.Tell = append(told.Tell, drill.Told{Start: 1, PID: 101, What: "exited"}, drill.Told{Start: 2, What: "exited"}, drill.Told{Start: 2, What: "empty"})
		stage := drill.NewTheatre(t.Context(), drill.Config{Limit: limit, Settle: settle}, 2, told)
		stage.Strange(1, 101)
		if owners, took, err := stage.Settle(); err != nil || len(owners) > 0 || took > time.Second {
			t.Errorf("owners %d after %v, %v", owners, took, err)
		}
	})
}
