package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/journal"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// local is an event of this host, so many minutes after noon.
func local(minute int, kind journal.Kind, detail string) journal.Event {
	return journal.Event{Time: noon.Add(time.Duration(minute) * time.Minute), Kind: kind, Detail: detail}
}

func held(token uint64) string {
	return fmt.Sprintf("%s: etcd /p/claim/kb, token %d", journal.OfCluster, token)
}

// life is one at the engine, from and until so many minutes after noon.
func life(token uint64, end string, from, until int) cluster.Life {
	at := func(m int) string { return cluster.Moment(noon.Add(time.Duration(m) * time.Minute)) }
	return cluster.Life{Token: token, End: end, Since: at(from), Until: at(until), Info: fmt.Sprint("host of ", token), Next: token + 1}
}

// What happened here is told once, by the directory; what happened elsewhere by the engine; where they disagree that is said.
func TestJoinLives(t *testing.T) {
	t.Parallel()
	mine := []journal.Event{
		local(0, journal.Acquired, "pid 1"), local(1, journal.Acquired, held(5)), local(2, journal.Released, ""),
		local(20, journal.Acquired, "pid 2"), local(21, journal.Acquired, held(8)), local(22, journal.Lost, held(8)+": unproven"),
	}
	for name, c := range map[string]struct {
		lives []cluster.Life
		want  string // the events that are added, with their minute
		notes string
	}{
		"nothing elsewhere":   {[]cluster.Life{life(5, cluster.Released, 1, 2), life(8, cluster.Expired, 21, 30)}, "", ""},
		"one between":         {[]cluster.Life{life(5, cluster.Released, 1, 2), life(6, cluster.Released, 3, 4), life(8, cluster.Expired, 21, 30)}, "3 acquired 6, 4 released 6", ""},
		"expired elsewhere":   {[]cluster.Life{life(7, cluster.Expired, 5, 9), life(8, cluster.Expired, 21, 30)}, "5 acquired 7, 9 lost 7", ""},
		"one that goes on":    {[]cluster.Life{life(8, cluster.Expired, 21, 30), {Token: 9, Since: cluster.Moment(noon.Add(40 * time.Minute))}}, "40 acquired 9", ""},
		"tokens were raised":  {[]cluster.Life{life(8, cluster.Expired, 21, 30), life(8, cluster.Raised, 0, 35)}, "35 forced 8", ""},
		"no times":            {[]cluster.Life{{Token: 7, End: cluster.Broken}, life(8, cluster.Released, 21, 22)}, "", ""},
		"release not heard":   {[]cluster.Life{life(5, cluster.Expired, 1, 9), life(8, cluster.Expired, 21, 30)}, "", "token 5 was released here"},
		"the engine lost one": {[]cluster.Life{life(5, cluster.Released, 1, 2), life(6, cluster.Released, 3, 4)}, "3 acquired 6, 4 released 6", "token 8 was had here"},
		"it has forgotten":    {[]cluster.Life{life(8, cluster.Expired, 21, 30)}, "", ""},
		"it knows nothing":    {nil, "", ""},
	} {
		all, notes := joinLives(append([]journal.Event(nil), mine...), c.lives)
		var added []string
		for i, e := range all {
			if i > 0 && e.Time.Before(all[i-1].Time) {
				t.Errorf("%s: not in the order of time: %+v", name, all)
			}
			if text, ok := strings.CutPrefix(e.Detail, elsewhere); ok {
				var token int
				if _, rest, ok := strings.Cut(text, "token "); ok {
					fmt.Sscan(strings.TrimSuffix(rest, ":"), &token)
				} else {
					fmt.Sscan(text[strings.LastIndex(text, " ")+1:], &token)
				}
				added = append(added, fmt.Sprint(int(e.Time.Sub(noon).Minutes()), " ", e.Kind, " ", token))
			}
		}
		if got := strings.Join(added, ", "); got != c.want || len(all) != len(mine)+len(added) {
			t.Errorf("%s: added %q of %d, want %q", name, got, len(all)-len(mine), c.want)
		}
		if got := strings.Join(notes, "; "); !strings.HasPrefix(got, c.notes) || c.notes == "" && got != "" {
			t.Errorf("%s: notes %q, want %q", name, got, c.notes)
		}
	}
}

// A directory without a cluster asks nobody. A file of somebody else sends nobody anywhere: what it names may be a trap.
func TestWithClusterTrustsItsOwnFilesAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine := []journal.Event{local(0, journal.Acquired, "pid 1")}
	if all, notes := withCluster(context.Background(), dir, "", mine); len(all) != 1 || len(notes) != 0 {
		t.Errorf("%+v, %q", all, notes)
	}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return // nobody else's file can be made
	}
	state := filepath.Join(dir, ".solehold")
	page, err := journal.Page(journal.Engine{URL: "etcd://127.0.0.1:1/x?password-file=/etc/shadow", Name: "kb"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(state, journal.EngineName)
	if err := os.WriteFile(file, page, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := engineOf(dir, ""); err != nil {
		t.Errorf("our own file: %v", err)
	}
	for _, path := range []string{dir, state, file} {
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	all, notes := withCluster(context.Background(), dir, "", mine)
	if len(all) != 1 || len(notes) != 1 || !strings.Contains(notes[0], "of uid 12345") {
		t.Errorf("%+v, %q", all, notes)
	}
}
