package journal_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/solehold/solehold/internal/journal"
)

func TestEngine(t *testing.T) {
	want := journal.Engine{URL: "etcd://a:2379,b:2379/solehold?ttl=15s", Name: "kb"}
	page, err := journal.Page(want)
	if err != nil {
		t.Fatal(err)
	}
	got, st, err := journal.ReadEngine(fstest.MapFS{journal.EngineName: {Data: page}})
	if err != nil || got != want || st.Name() != journal.EngineName {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := journal.ReadEngine(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, text := range []string{"", "{", `{"url":7}`, strings.Repeat(" ", 1<<20) + `{"url":"x"}`} {
		if e, _, err := journal.ReadEngine(fstest.MapFS{journal.EngineName: {Data: []byte(text)}}); err == nil {
			t.Errorf("%.20q gave %+v", text, e)
		}
	}
}
