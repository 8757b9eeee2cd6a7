package diagnose_test

import (
	"encoding/json"
	"testing"

	"github.com/solehold/solehold/internal/diagnose"
)

// One line, which says the same and has nothing that a terminal would obey.
func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		"a <b> & ü":         `"a <b> & ü"`,
		"a\u202e\U000e0001": `"a\u202e\udb40\udc01"`,
		"\x1b[2J\n\u009b":   `"\u001b[2J\n\u009b"`,
	} {
		got, err := diagnose.JSON(text)
		if err != nil || string(got) != want+"\n" {
			t.Errorf("%q: %s %v", text, got, err)
		}
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != text {
			t.Errorf("%q comes back as %q, %v", text, back, err)
		}
	}
	if _, err := diagnose.JSON(func() {}); err == nil {
		t.Error("a function has no JSON")
	}
}
