package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/solehold/solehold/fence"
	_ "modernc.org/sqlite" //archtest:allow blank a test opens its database by the driver's name
)

// TestHTTPRefusesLateWriter has the owner with token 7 write, is succeeded by 8, and comes late.
func TestHTTPRefusesLateWriter(t *testing.T) {
	var mu sync.Mutex
	var wrote []string
	server := httptest.NewServer(&fence.Guard{
		Store:    &fence.Memory{},
		Resource: func(r *http.Request) string { return r.URL.Path },
		Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			wrote = append(wrote, r.Header.Get(fence.Header))
		}),
	})
	defer server.Close()
	put := func(c *http.Client, path string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(body)
	}
	first := &http.Client{Transport: &fence.Transport{Token: 7}}
	next := &http.Client{Transport: &fence.Transport{Token: 8}}
	for i, step := range []struct {
		c    *http.Client
		path string
		code int
		text string
	}{
		{first, "/a", 200, ""},
		{first, "/a", 200, ""},
		{next, "/a", 200, ""},
		{first, "/a", 412, "token 7 is void"},
		{first, "/b", 200, ""},
		{next, "/a", 200, ""},
		{http.DefaultClient, "/a", 428, fence.Header},
	} {
		if code, text := put(step.c, step.path); code != step.code || !strings.Contains(text, step.text) {
			t.Errorf("step %d: %d %q, want %d %q", i, code, text, step.code, step.text)
		}
	}
	if got := strings.Join(wrote, " "); got != "7 7 8 7 8" {
		t.Errorf("wrote %s", got)
	}
}

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "db")+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// write is what an owner does: raise, and write in the same transaction.
func write(ctx context.Context, db *sql.DB, f fence.SQL, token uint64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f.Raise(ctx, tx, "counter", token); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE counter SET by = ?", token); err != nil {
		return err
	}
	return tx.Commit()
}

// TestSQLRefusesLateWriter has the owner with token 7 write, is succeeded by 8, and comes late.
func TestSQLRefusesLateWriter(t *testing.T) {
	db := open(t)
	f := fence.SQL{Placeholder: func(int) string { return "?" }}
	if err := f.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE counter (by INTEGER); INSERT INTO counter VALUES (0)"); err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		token uint64
		stale bool
	}{{7, false}, {7, false}, {8, false}, {7, true}, {8, false}} {
		err := write(t.Context(), db, f, step.token)
		if errors.Is(err, fence.ErrStale) != step.stale || !step.stale && err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		var stale *fence.StaleError
		if step.stale && (!errors.As(err, &stale) || stale.Highest != 8 || stale.Token != 7 || stale.Resource != "counter") {
			t.Errorf("step %d: %+v", i, err)
		}
	}
	var by int
	if err := db.QueryRow("SELECT by FROM counter").Scan(&by); err != nil || by != 8 {
		t.Errorf("written by %d, %v", by, err)
	}
	if err := f.Raise(t.Context(), db, "counter", 1<<63); err == nil || errors.Is(err, fence.ErrStale) {
		t.Errorf("a token beyond BIGINT: %v", err)
	}
}

// TestSQLTogether lets owners write at once: the counter is never behind the highest token that was told good.
func TestSQLTogether(t *testing.T) {
	db := open(t)
	f := fence.SQL{Table: "f", Placeholder: func(n int) string { return "?" + string(rune('0'+n)) }}
	if err := f.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE counter (by INTEGER); INSERT INTO counter VALUES (0)"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for token := range uint64(8) {
		all.Go(func() {
			for range 5 {
				if err := write(t.Context(), db, f, token+1); err != nil && !errors.Is(err, fence.ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var by int
	if err := db.QueryRow("SELECT by FROM counter").Scan(&by); err != nil || by != 8 {
		t.Errorf("written by %d at last, %v", by, err)
	}
}
