package dataroot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Kind is what a root is for.
type Kind string

// The kinds.
const (
	// State must survive reboots and is worth a backup.
	State Kind = "state"
	// Cache may be removed by anybody while the service is down.
	Cache Kind = "cache"
	// Runtime is gone after a reboot.
	Runtime Kind = "runtime"
)

// place is where a platform keeps one kind.
type place struct {
	unit   string   // systemd's variable for it
	user   string   // XDG's variable
	home   []string // below the home directory without that
	system string   // for root
}

func places() map[Kind]place {
	return map[Kind]place{
		State:   {"STATE_DIRECTORY", "XDG_STATE_HOME", []string{".local", "state"}, "/var/lib"},
		Cache:   {"CACHE_DIRECTORY", "XDG_CACHE_HOME", []string{".cache"}, "/var/cache"},
		Runtime: {"RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR", nil, "/run"},
	}
}

// Base returns the directory for roots of a kind: what systemd made for this unit
// (StateDirectory= and the like; the first of several), else on Unix /var/lib,
// /var/cache or /run for root and XDG's directories for users, ProgramData or
// LocalAppData on Windows, Library on macOS. It need not exist.
func Base(kind Kind) (string, error) {
	p, ok := places()[kind]
	if !ok {
		return "", fmt.Errorf("%q is no kind of root; the kinds are state, cache, runtime", kind)
	}
	if dirs := os.Getenv(p.unit); dirs != "" {
		first, _, _ := strings.Cut(dirs, ":")
		return absolute(p.unit, first)
	}
	switch runtime.GOOS {
	case "windows":
		return windowsBase(kind)
	case "darwin", "ios":
		return macBase(kind)
	}
	if os.Geteuid() == 0 {
		return p.system, nil
	}
	if dir := os.Getenv(p.user); dir != "" {
		return absolute(p.user, dir)
	}
	home, err := os.UserHomeDir()
	if err != nil || p.home == nil {
		return "", errors.Join(fmt.Errorf("no place for %s data: %s is not set", kind, p.user), err)
	}
	return filepath.Join(append([]string{home}, p.home...)...), nil
}

// absolute refuses a relative base: it would mean another place in each working
// directory.
func absolute(variable, dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s=%q is not an absolute path", variable, dir)
	}
	return filepath.Clean(dir), nil
}

func windowsBase(kind Kind) (string, error) {
	variable := "ProgramData"
	if kind != State {
		variable = "LOCALAPPDATA"
	}
	dir := os.Getenv(variable)
	if dir == "" {
		return "", fmt.Errorf("no place for %s data: %s is not set", kind, variable)
	}
	return absolute(variable, dir)
}

func macBase(kind Kind) (string, error) {
	folders := map[Kind]string{State: "Application Support", Cache: "Caches", Runtime: "Caches"}
	if os.Geteuid() == 0 {
		return filepath.Join("/Library", folders[kind]), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, "Library", folders[kind]), err
}

// UnitInstance is the instance of the systemd unit that this process runs in: "2"
// in kb@2.service, "" outside of one.
func UnitInstance() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	return instanceOf(string(text))
}

func instanceOf(cgroups string) string {
	for line := range strings.Lines(cgroups) {
		if instance := innermost(strings.Split(strings.TrimSpace(line), "/")); instance != "" {
			return instance
		}
	}
	return ""
}

// innermost is the instance of the last unit on a path: one around it, such as
// user@1000.service around all that a user runs, has its own.
func innermost(path []string) string {
	for _, part := range slices.Backward(path) {
		unit, isService := strings.CutSuffix(part, ".service")
		if isService {
			if _, instance, ok := strings.Cut(unit, "@"); ok && CheckName(instance) == nil {
				return instance
			}
			return ""
		}
		if strings.HasSuffix(part, ".scope") {
			return ""
		}
	}
	return ""
}

// HostInstance is an instance for this host, for roots on a disk that several hosts
// see: short, the same after a reboot or a rename of the host, and nobody reads the
// machine's id from it.
func HostInstance() (string, error) {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(id))
	if len(text) < 32 {
		return "", fmt.Errorf("/etc/machine-id: %q is no id of a machine", text)
	}
	sum := sha256.Sum256([]byte("solehold data root " + text))
	return "h" + hex.EncodeToString(sum[:6]), nil
}
