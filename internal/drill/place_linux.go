package drill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// smallSize is the room of a small file system, in bytes: enough for a service to begin.
const smallSize = 64 << 20

// fillName is the file that takes the rest of a file system.
const fillName = ".solehold-drill-fill"

// births are the namespaces that a process is born into.
func (p place) births() (flags uintptr) {
	if p.Boot != "" {
		flags |= unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC
	}
	if p.Switch || p.Wire {
		flags |= unix.CLONE_NEWNET
	}
	return flags
}

// private says that mounts made here are not seen elsewhere.
func (p place) private() bool { return p.Mounts || p.Small || p.Boot != "" }

// enter moves this thread, and what is born from it, to its place. Nothing of it is seen outside.
func (p place) enter() error {
	if p == (place{Data: p.Data}) {
		return nil
	}
	// A thread of several shares its root and working directory with them, and such a thread may not change its mounts.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	if p.Join != 0 {
		return join(p.Join)
	}
	if p.private() {
		if err := ownMounts(); err != nil {
			return err
		}
	}
	if p.Small {
		if err := p.mountSmall(); err != nil {
			return err
		}
	}
	if p.Boot != "" {
		if err := p.boot(); err != nil {
			return err
		}
	}
	if p.Ahead != 0 {
		return ahead(p.Ahead)
	}
	if p.Switch {
		return layNetwork()
	}
	return nil
}

// join takes the mounts of another thread.
func join(thread int) error {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", thread), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open", err)
	}
	defer unix.Close(fd)
	return os.NewSyscallError("setns", unix.Setns(fd, unix.CLONE_NEWNS))
}

// ownMounts gives mounts of its own, from which nothing goes back.
func ownMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	return mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE)
}

func mount(source, target, kind string, flags uintptr) error {
	if err := unix.Mount(source, target, kind, flags, ""); err != nil {
		return fmt.Errorf("mount on %s: %w", target, err)
	}
	return nil
}

// mountSmall covers the data directory with a small file system that shows the same content, and keeps the real one from
// being written.
func (p place) mountSmall() error {
	const options = "size=64m,mode=0700"
	real, err := os.Open(p.Data)
	if err != nil {
		return err
	}
	defer real.Close()
	info, err := real.Stat()
	if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", p.Data, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount on %s: %w", p.Data, err)
	}
	if err := os.CopyFS(p.Data, os.DirFS(fmt.Sprintf("/proc/self/fd/%d", real.Fd()))); err != nil {
		return fmt.Errorf("the data does not fit into %d MiB: %w", smallSize>>20, err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	return errors.Join(os.Chown(p.Data, int(owner.Uid), int(owner.Gid)), os.Chmod(p.Data, info.Mode()))
}

// boot gives a /proc of its own, in which the boot has another id.
func (p place) boot() error {
	if err := mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC); err != nil {
		return err
	}
	file, err := os.CreateTemp("", "solehold-drill-boot-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // the mount keeps it
	_, err = file.WriteString(p.Boot + "\n")
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return mount(file.Name(), "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND)
}

// ahead moves the clocks since boot of what is born from here.
func ahead(seconds int64) error {
	if err := unix.Unshare(unix.CLONE_NEWTIME); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	text := fmt.Sprintf("monotonic %d 0\nboottime %d 0\n", seconds, seconds)
	return os.WriteFile(fmt.Sprintf("/proc/%d/timens_offsets", unix.Gettid()), []byte(text), 0)
}

// change does something to the file system of the data directory, which is seen by none but those in this place.
func (p place) change(what string) error {
	fill := filepath.Join(p.Data, fillName)
	switch what {
	case "fill":
		return fillUp(fill)
	case "free":
		return os.Remove(fill)
	case "readonly":
		if err := mount(p.Data, p.Data, "", unix.MS_BIND); err != nil {
			return err
		}
		return mount("none", p.Data, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY)
	case "writable":
		return os.NewSyscallError("umount", unix.Unmount(p.Data, unix.MNT_DETACH))
	}
	return fmt.Errorf("no order %q", what)
}

// fillUp writes a file until there is no room left.
func fillUp(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		_, err := f.Write(block)
		if errors.Is(err, unix.ENOSPC) {
			block = block[:len(block)/2] // to the last byte
		} else if err != nil {
			return err
		}
	}
	return nil
}
