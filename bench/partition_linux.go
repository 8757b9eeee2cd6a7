package main

import (
	"context"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/solehold/solehold/bench/internal/partition"
	"golang.org/x/sys/unix"
)

// partitions fills the table of holders that are cut off their engine. SIGINT and
// SIGTERM end it in order, so that nothing stays.
func (b *bench) partitions() error {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	dir, err := b.place("p")
	if err != nil {
		return err
	}
	if err := goBuild(dir+"/", "./cmd/solehold", "./cmd/solehold-cluster"); err != nil {
		return err
	}
	rig := partition.Rig{Solehold: filepath.Join(dir, "solehold"), Dir: dir, TTL: 6 * time.Second, Runs: 16, Note: b.note}
	if b.quick {
		rig.TTL, rig.Runs = 5*time.Second, 2
	}
	b.report.Partitions = rig.Tables(ctx, b.wants)
	return nil
}
