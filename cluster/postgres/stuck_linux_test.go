package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/solehold/solehold/cluster"
)

// Somebody's open transaction has the rows of many locks: what is asked for there waits, and must not take from the
// renewals of a lock that is owned what these need.
func TestStuckRows(t *testing.T) {
	t.Parallel()
	addr := start(t)
	c, err := cluster.New(backend(t, addr), cluster.Options{TTL: 6 * time.Second, Delay: 600 * time.Millisecond, Grace: 600 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	mine, err := c.Acquire(t.Context(), "mine", cluster.AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprint("lock ", i))
	}
	giveBack := func(leases []cluster.Lease, errs []error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		for _, l := range leases {
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	giveBack(c.AcquireEach(t.Context(), names, cluster.AcquireOptions{}))
	direct, err := pgx.Connect(t.Context(), "postgres://postgres@"+addr+"/postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close(context.Background())
	tx, err := direct.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT * FROM "so'le".lock WHERE name LIKE 'lock %' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithTimeout(t.Context(), 9*time.Second)
	defer giveUp()
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			if l, err := c.Acquire(ctx, name, cluster.AcquireOptions{}); err == nil {
				t.Errorf("%s was granted with token %d", name, l.Token())
			}
		})
	}
	select {
	case <-mine.Context().Done():
		t.Error(context.Cause(mine.Context()))
	case <-ctx.Done():
	}
	all.Wait()
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	giveBack(c.AcquireEach(t.Context(), names, cluster.AcquireOptions{Wait: true}))
	giveBack([]cluster.Lease{mine}, nil)

	tx, err = direct.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT * FROM "so'le".lock WHERE name = 'lock 7' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	leases, errs := c.AcquireEach(t.Context(), names, cluster.AcquireOptions{Limit: 5 * time.Second})
	if leases[7] != nil || errs[7] == nil {
		t.Error("the lock whose row is not free was granted")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	giveBack(slices.Delete(leases, 7, 8), slices.Delete(errs, 7, 8)) // the others are not held up by it
}
