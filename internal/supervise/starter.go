package supervise

import (
	"errors"
	"os"

	"github.com/solehold/solehold"
)

// What a starter is told through Config.Started: one of these words, and after
// refusedWord or failedWord the reason.
const (
	startedWord = "started"
	refusedWord = "refused "
	failedWord  = "failed "
)

// starter is who launched this process and waits to hear how that went; nil for
// nobody.
type starter struct{ to *os.File }

// newStarter takes over the descriptor: the command must not have it.
func newStarter(fd int) *starter {
	if fd <= 0 {
		return nil
	}
	keepFromChild(fd)
	return &starter{os.NewFile(uintptr(fd), "starter")}
}

// tell says it once.
func (s *starter) tell(err error) {
	if s == nil {
		return
	}
	word := startedWord
	var held *solehold.HeldError
	switch {
	case errors.As(err, &held):
		word = refusedWord + err.Error()
	case err != nil:
		word = failedWord + err.Error()
	}
	s.to.WriteString(word) // one that left does not want to know
	s.to.Close()
}
