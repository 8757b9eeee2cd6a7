package solehold

import (
	"golang.org/x/sys/windows"
)

// watchID is the event that ends a watch.
type watchID = windows.Handle

// guardian has nothing in common for all locks here: each has a thread of its own.
type guardian struct{}

func guards() guardian { return guardian{} }

// follow watches the names in the state directory of a lock, whose k.mu the caller
// has. The directories themselves, and the lock file, nobody can remove.
func (guardian) follow(w *watched) []watchID {
	changes, err := windows.FindFirstChangeNotification(w.k.c.state.Path(), false, windows.FILE_NOTIFY_CHANGE_FILE_NAME)
	if err != nil {
		return nil // the slow tick remains
	}
	end, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		windows.FindCloseChangeNotification(changes)
		return nil
	}
	go watchChanges(w, changes, end)
	return []watchID{end}
}

// watchChanges checks a lock whenever a name came or went, until end is set.
func watchChanges(w *watched, changes, end windows.Handle) {
	defer windows.CloseHandle(end)
	defer windows.FindCloseChangeNotification(changes)
	for {
		event, err := windows.WaitForMultipleObjects([]windows.Handle{changes, end}, false, windows.INFINITE)
		if err != nil || event != windows.WAIT_OBJECT_0 {
			return
		}
		if windows.FindNextChangeNotification(changes) != nil {
			return
		}
		w.check()
	}
}

func (guardian) forget(ends []watchID) {
	for _, end := range ends {
		windows.SetEvent(end)
	}
}
