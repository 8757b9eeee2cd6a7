package cli

import (
	"fmt"
	"io"

	"github.com/solehold/solehold/internal/diagnose"
)

// printJSON writes one value as one line.
func (a *app) printJSON(w io.Writer, v any) {
	text, err := diagnose.JSON(v)
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		fmt.Fprintf(a.env.Stderr, "solehold: %v\n", err)
	}
}
