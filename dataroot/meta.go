package dataroot

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// metaName is the file that makes a directory a root.
const metaName = ".root.json"

// maxMeta bounds it.
const maxMeta = 16 << 10

// Meta is what a root says of itself. It is a label: nobody is let in, kept out or
// removed by it alone.
type Meta struct {
	// Format is 1.
	Format int `json:"format"`
	// Name is the service.
	Name string `json:"name"`
	// Instance is which one of it.
	Instance string `json:"instance,omitempty"`
	// UUID is made at birth and never changes.
	UUID string `json:"uuid"`
	// Ephemeral says that GC may remove it when its owner is gone.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Quota is how many bytes were agreed on; 0 for none.
	Quota int64 `json:"quota,omitempty"`
	// Born is when.
	Born time.Time `json:"born"`
	// Device is the disk that it was born on.
	Device Device `json:"device"`
}

// Device names a file system so that it is known again after a reboot.
type Device struct {
	// Type is that of the file system.
	Type string `json:"type,omitempty"`
	// Source is what is mounted.
	Source string `json:"source,omitempty"`
	// ID is the file system's own id where that outlives a reboot.
	ID string `json:"id,omitempty"`
}

// String names it for people.
func (d Device) String() string {
	if d.Type == "" && d.Source == "" {
		return "an unknown disk"
	}
	return d.Type + " on " + d.Source
}

// same reports whether two descriptions may be one file system. What is not known
// is no difference.
func (d Device) same(other Device) bool {
	if d.ID != "" && other.ID != "" {
		return d.ID == other.ID
	}
	if d.Source == "" || other.Source == "" {
		return true
	}
	return d.Source == other.Source && d.Type == other.Type
}

func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// readMeta reads a root's description. The error is fs.ErrNotExist where it is
// none.
func readMeta(root *os.Root) (Meta, error) {
	st, err := root.Lstat(metaName)
	if err != nil {
		return Meta{}, err
	}
	if !st.Mode().IsRegular() {
		return Meta{}, &fs.PathError{Op: "read", Path: metaName, Err: errors.New("not a plain file")}
	}
	f, err := root.Open(metaName)
	if err != nil {
		return Meta{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMeta))
	if err != nil {
		return Meta{}, err
	}
	var m Meta
	if err := json.Unmarshal(text, &m); err != nil {
		return Meta{}, fmt.Errorf("%s/%s: %w", root.Name(), metaName, err)
	}
	if m.Format != 1 {
		return Meta{}, fmt.Errorf("%s/%s: format %d is not known here", root.Name(), metaName, m.Format)
	}
	return m, nil
}
