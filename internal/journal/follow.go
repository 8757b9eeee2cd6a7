package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Follower reads a history and, when asked again, only what was added since. Its
// zero value has read nothing. The history of a year is read once, and then a line
// at a time.
type Follower struct {
	last fs.FileInfo // of the file that was read last
	at   int64       // how much of it was read, up to the end of a line
	// Skipped counts lines that are not events, as History.Skipped does; one that is
	// being written counts when it is whole.
	Skipped int
}

// Next gives visit each event that was added since the last call, oldest first.
// Where the files are not those of the last call it calls restart, which may be
// nil, and begins anew. A rotation is followed.
func (f *Follower) Next(fsys fs.FS, restart func(), visit func(Event)) error {
	if f.last != nil {
		ok, err := f.goOn(fsys, visit)
		if ok || err != nil {
			return err
		}
		*f = Follower{}
		if restart != nil {
			restart()
		}
	}
	for i := Keep; i >= 0; i-- {
		if err := f.whole(fsys, fileName(i), visit); err != nil {
			return err
		}
	}
	return nil
}

// goOn reads what was added to the file of the last call, and what came after a
// rotation. ok is false where that file is no longer to be found.
func (f *Follower) goOn(fsys fs.FS, visit func(Event)) (ok bool, err error) {
	for _, name := range []string{fileName(0), fileName(1)} {
		ok, err = f.added(fsys, name, visit)
		if err != nil || ok {
			if err == nil && name != Name {
				err = f.whole(fsys, Name, visit)
			}
			return true, err
		}
	}
	return false, nil
}

// added reads the rest of a file, if it is that of the last call.
func (f *Follower) added(fsys fs.FS, name string, visit func(Event)) (bool, error) {
	file, info, err := open(fsys, name)
	if file == nil {
		return false, err
	}
	defer file.Close()
	seeker, ok := file.(io.Seeker)
	if !os.SameFile(f.last, info) || info.Size() < f.at || !ok {
		return false, nil
	}
	if info.Size() == f.at {
		return true, nil
	}
	if _, err := seeker.Seek(f.at, io.SeekStart); err != nil {
		return false, err
	}
	return true, f.read(file, visit)
}

// whole reads a file from its start and makes it the last one. A missing one is
// left out.
func (f *Follower) whole(fsys fs.FS, name string, visit func(Event)) error {
	file, info, err := open(fsys, name)
	if file == nil {
		return err
	}
	defer file.Close()
	f.last, f.at = info, 0
	return f.read(file, visit)
}

func (f *Follower) read(file fs.File, visit func(Event)) error {
	l := lines{visit: visit}
	err := l.read(file)
	f.at += l.whole
	f.Skipped += l.skipped
	return err
}

// open is nil without an error for a file that is not there.
func open(fsys fs.FS, name string) (fs.File, fs.FileInfo, error) {
	file, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}
