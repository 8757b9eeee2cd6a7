package datadir_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/datadir"
)

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"data", "/srv/data", "./~", "a~", "/srv/~/x", ".", "..", " ", "a\nb", "\xff", strings.Repeat("x", 5000)} {
		if err := datadir.CheckPath(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	for path, word := range map[string]string{
		"": "empty", "~": "./~", "~/data": "whole path", "~user/data": "whole path", "~~": "whole path",
	} {
		var refused *datadir.RefusedError
		err := datadir.CheckPath(path)
		if !errors.As(err, &refused) || !strings.Contains(refused.Why, word) {
			t.Errorf("%q: got %v", path, err)
		}
	}
	err := datadir.CheckPath("a\x00b")
	if !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), `a\0b`) {
		t.Errorf("NUL: got %v", err)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got := (datadir.Key{Dev: 65024, Ino: 1 << 63}).String(); got != "65024:9223372036854775808" {
		t.Errorf("got %s", got)
	}
	err := error(&datadir.RefusedError{Path: "/srv/x", Why: "it is a fifo"})
	if err.Error() != "/srv/x: it is a fifo" {
		t.Errorf("got %v", err)
	}
}
