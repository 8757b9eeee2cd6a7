package overview

import "sync/atomic"

// CountFiles counts each question about a file of a directory.
func (w *Watcher) CountFiles() *atomic.Int64 {
	var n atomic.Int64
	w.stat = func(path string) stamp {
		n.Add(1)
		return stampOf(path)
	}
	for _, e := range w.entries {
		e.reader.stat = w.stat
	}
	return &n
}
