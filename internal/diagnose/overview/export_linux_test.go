package overview

import "sync/atomic"

// CountFiles counts each question about a file of a directory.
func (w *Watcher) CountFiles() *atomic.Int64 {
	var n atomic.Int64
	w.BeforeFile(func(string) { n.Add(1) })
	return &n
}

// BeforeFile calls do before each question about a file of a directory.
func (w *Watcher) BeforeFile(do func(path string)) {
	w.stat = func(path string) stamp {
		do(path)
		return stampOf(path)
	}
	for _, e := range w.entries {
		e.reader.stat = w.stat
	}
}
