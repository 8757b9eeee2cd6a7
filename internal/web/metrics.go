package web

import (
	"context"
	"time"
)

// textEvery is the pause between two writes of the text file: node_exporter is asked
// about as often.
const textEvery = 10 * time.Second

// KeepText writes the metrics into a file in dir for node_exporter's textfile
// collector until ctx ends, and then removes it. The error is that of the first
// write; say hears of later ones. Serve has to run meanwhile.
func (s *Server) KeepText(ctx context.Context, dir string, say func(error)) error {
	if err := s.metrics.KeepFile(ctx, dir, textEvery, say); err != nil {
		return &ListenError{Address: dir, Why: "the text file cannot be written", Next: "make the directory, or name another one with --textfile", Code: CodeCreate, Err: err}
	}
	return nil
}
