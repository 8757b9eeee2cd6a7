package dataroot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// PinnedError says that a root was born on another disk than the one that its
// path leads to now. Nothing was made.
type PinnedError struct {
	// Path is that of the root.
	Path string
	// Born is the disk that it was born on.
	Born Device
	// Here is the disk that the path leads to.
	Here Device
	// Root says that the root is there, and itself says where it was born: it was
	// moved or copied.
	Root bool
}

// Error names both disks.
func (e *PinnedError) Error() string {
	if e.Root {
		return fmt.Sprintf("%s: this root was born on %s, and lies on %s now; was it moved or copied on purpose?", e.Path, e.Born, e.Here)
	}
	return fmt.Sprintf("%s: this root was born on %s, and its path leads to %s now; is the disk mounted?", e.Path, e.Born, e.Here)
}

// PinsDir is where this user's programs write down on which disk each root was
// born: it must not be on that disk. It is empty for a user without a home.
func PinsDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/solehold/pins"
	}
	if dir, err := os.UserConfigDir(); err == nil {
		return filepath.Join(dir, "solehold", "pins")
	}
	return ""
}

// pins is such a directory.
type pins struct{ dir string }

// pin is one file in it.
type pin struct {
	Path   string `json:"path"`
	Device Device `json:"device"`
}

func (p pins) file(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(p.dir, hex.EncodeToString(sum[:12])+".json")
}

var errNoPins = errors.New("this user has no folder for the notes on which disk each root was born (HOME is not set); name one as Pins, or choose NoPin")

// read returns the disk that a root was born on before.
func (p pins) read(path string) (Device, error) {
	if p.dir == "" { // the working directory must not stand in for it
		return Device{}, errNoPins
	}
	text, err := os.ReadFile(p.file(path))
	if err != nil {
		return Device{}, err
	}
	var was pin
	if err := json.Unmarshal(text, &was); err != nil || was.Path != path {
		return Device{}, fmt.Errorf("%s: not readable as the note on which disk %s was born; remove it if that root is to be made anew", p.file(path), path)
	}
	return was.Device, nil
}

// put writes a birth down.
func (p pins) put(path string, here Device) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("write down on which disk %s was born: %w", path, err)
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	text, err := json.Marshal(pin{path, here})
	if err != nil {
		return err
	}
	s := Space{root: root}
	return s.replace(filepath.Base(p.file(path)), append(text, '\n'))
}
