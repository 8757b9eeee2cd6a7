package named

import (
	"fmt"
	"path/filepath"
)

func ask(path string) {}

const pidFile = "/run/kb.pid"

func names(dir, lockPath, clockFile, blockFile, pid_file, other string) {
	ask(lockPath)                           // want `lock true pid false`
	ask(pid_file)                           // want `lock false pid true`
	ask(pidFile)                            // want `lock false pid true`
	ask(clockFile)                          // want `lock false pid false`
	ask(blockFile)                          // want `lock false pid false`
	ask(other)                              // want `lock false pid false`
	ask(filepath.Join(dir, "app.lock"))     // want `lock true pid false`
	ask(dir + "/app.pid")                   // want `lock false pid true`
	ask(fmt.Sprintf("%s/%s.pid", dir, dir)) // want `lock false pid true`
	ask("/srv/rapid")                       // want `lock false pid false`
	path := filepath.Join(dir, "x.lck")
	ask(path) // want `lock true pid false`
}
