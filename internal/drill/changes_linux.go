package drill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// change is what the kernel tells of a file. Where it does not tell who it was, only that something happened, pid is 0.
type change struct {
	pid   int
	path  string
	inode uint64
}

// changes hears what happens to files.
type changes struct {
	told chan change
	file *os.File
	add  func(dir string) error
	done chan struct{}
	deaf error // why it is not told who changes a file, or nothing at all
}

// hear begins to listen: through fanotify, which tells who it was, or where that is not permitted, through inotify.
func hear() *changes {
	c := &changes{told: make(chan change, 256), done: make(chan struct{})}
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_LARGEFILE)
	if err == nil {
		c.file = os.NewFile(uintptr(fd), "fanotify")
		c.add = func(dir string) error {
			return unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_ONLYDIR, unix.FAN_MODIFY|unix.FAN_EVENT_ON_CHILD, unix.AT_FDCWD, dir)
		}
		go c.listen(c.named)
		return c
	}
	c.deaf = fmt.Errorf("the kernel does not tell who changes a file (fanotify: %w): a change between two looks may be missed", err)
	if fd, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != nil {
		c.add = func(string) error { return nil }
		return c
	}
	c.file = os.NewFile(uintptr(fd), "inotify")
	c.add = func(dir string) error {
		_, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN|unix.IN_MODIFY|unix.IN_CREATE|unix.IN_CLOSE_WRITE|unix.IN_ONLYDIR)
		return err
	}
	go c.listen(func([]byte) bool { return c.tell(change{}) })
	return c
}

// cover takes in the folders below a directory as they are now.
func (c *changes) cover(dir string) error {
	const most = 1000
	n := 0
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case d.Name() == stateDir:
			return fs.SkipDir
		}
		if n++; n > most {
			return fmt.Errorf("more than %d folders: changes in the others are not told", most)
		}
		return os.NewSyscallError("mark", c.add(path))
	})
}

// listen reads until it is closed.
func (c *changes) listen(event func([]byte) bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.file.Read(buf)
		if err != nil || !event(buf[:n]) {
			return
		}
	}
}

// named reads fanotify's events, each with the file open for us.
func (c *changes) named(text []byte) bool {
	for len(text) > 0 {
		var m unix.FanotifyEventMetadata
		if binary.Read(bytes.NewReader(text), binary.NativeEndian, &m) != nil || int(m.Event_len) > len(text) || m.Event_len == 0 {
			return true
		}
		text = text[m.Event_len:]
		if m.Fd < 0 {
			continue // some were lost: a look follows all the same
		}
		ev := change{pid: int(m.Pid)}
		ev.path, _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(m.Fd))) // without a name it is none of ours
		var st unix.Stat_t
		if unix.Fstat(int(m.Fd), &st) == nil {
			ev.inode = st.Ino
		}
		unix.Close(int(m.Fd))
		if ev.pid != os.Getpid() && !c.tell(ev) {
			return false
		}
	}
	return true
}

func (c *changes) tell(ev change) bool {
	select {
	case c.told <- ev:
		return true
	case <-c.done:
		return false
	}
}

// close ends listening.
func (c *changes) close() {
	close(c.done)
	if c.file != nil {
		c.file.Close()
	}
}
