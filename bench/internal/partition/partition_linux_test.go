package partition_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/partition"
	"github.com/solehold/solehold/internal/testneed"
)

// The tests' own binary is the command under the lock, and the etcd.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helper.Word {
		fmt.Fprintln(os.Stderr, helper.Main(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Each holder is told and its command dead before the next one is granted the lock, on each engine. What peers do is
// theirs: a line of the log.
func TestTables(t *testing.T) {
	testneed.Root(t)
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir+"/", "./cmd/solehold", "./cmd/solehold-cluster")
	build.Dir, build.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s%v", out, err)
	}
	rig := partition.Rig{
		Solehold: filepath.Join(dir, "solehold"), Dir: dir, TTL: 5 * time.Second, Runs: 2,
		Note: func(format string, args ...any) {
			testneed.Feature(t, false, fmt.Sprintf(format, args...), "see scripts/deps.sh")
		},
	}
	for _, engine := range []string{"etcd", "redis", "zookeeper", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			ours := 0
			for _, p := range rig.Tables(t.Context(), func(e string) bool { return e == engine }) {
				t.Logf("%+v, told %+v, dead %+v", p, p.Told, p.Dead)
				switch {
				case p.Error != "" || p.Runs != rig.Runs || p.Told == nil:
					t.Errorf("%s: %s", p.Name, p.Error)
				case p.Dead == nil: // a peer
				case p.Overlaps != 0 || p.Told.Min <= 0 || p.Dead.Min <= 0 || p.Owned.Min < p.Dead.Min || p.Told.Median < p.Dead.Median:
					t.Error("two owners")
				default:
					ours++
				}
			}
			if ours != 1 {
				t.Error("ours was not measured")
			}
		})
	}
}
