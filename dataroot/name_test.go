package dataroot_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/quick"

	"github.com/solehold/solehold/dataroot"
)

func TestCheckName(t *testing.T) {
	for _, good := range []string{"kb", "a", "0", "kb-2", "kb_2", "kb.v2", strings.Repeat("x", 32), "connect", "com10", "nulls"} {
		if err := dataroot.CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", ".", "..", "...", "a..b", "-a", "a-", ".a", "a.", "_a", "a/b", `a\b`, "/a", "a@b", "a b", "a\n", "a\x00", "A", "Kb", "é", "e\u0301",
		"con", "nul.txt", "com1", "lpt9.log", "aux", "clock$", strings.Repeat("x", 33), "ａ", "a:b", "a*", "~a", "\u202eab",
	} {
		var wrong *dataroot.NameError
		if err := dataroot.CheckName(bad); !errors.As(err, &wrong) || !errors.Is(err, dataroot.ErrName) || wrong.Name != bad {
			t.Errorf("%q was taken: %v", bad, err)
		}
	}
}

// A name that is taken is one component of a path, the same in every spelling.
func TestNamesStayNames(t *testing.T) {
	if err := quick.Check(func(s string) bool {
		return dataroot.CheckName(s) != nil || filepath.Base(s) == s && filepath.IsLocal(s) && strings.ToLower(s) == s && filepath.Clean(s) == s
	}, &quick.Config{MaxCount: 100_000}); err != nil {
		t.Error(err)
	}
}
