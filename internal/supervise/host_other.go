//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package supervise

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/solehold/solehold/health"
)

// host is not written for this system: able says so before anything is done, and
// nothing else here is ever called.
type host struct {
	tree     *tree
	children chan struct{}
}

const (
	unblocking = 0
	sendCall   = "kill"
)

type (
	tree  struct{}
	child struct{ pid int }
	grip  struct{}
)

func able(Config) error { return unable("run a command under the lock") }

// Exec is not written for this system.
func Exec(_ context.Context, c Config) error { return able(c) }

// Mirror exits as e says.
func Mirror(e End, _ bool) int { return e.Code }

func newHost() host                               { return host{} }
func surviveReaders()                             {}
func isTerminal(*os.File) bool                    { return false }
func systemClocks() (boot, awake time.Duration)   { return 0, 0 }
func keepFromChild(int)                           {}
func detach(*exec.Cmd, *os.File) uintptr          { return 0 }
func ancestors(int) []int                         { return nil }
func commandOf(int) []string                      { return nil }
func birthsBelow(int) []birth                     { return nil }
func grasp(birth) (*grip, error)                  { return nil, unable("tell processes apart") }
func await(*grip, time.Duration)                  {}
func (h *host) close()                            {}
func (h *host) commands() health.Runner           { return nil }
func (r *runner) listen()                         {}
func (r *runner) listenToAll()                    {}
func (r *runner) deafen()                         {}
func (r *runner) inherit()                        {}
func (r *runner) settleIn() error                 { return nil }
func (r *runner) attended() bool                  { return false }
func (r *runner) groupName() string               { return "" }
func (r *runner) fork() (*child, error)           { return nil, able(r.c) }
func (r *runner) reap()                           {}
func (r *runner) explain(*End)                    {}
func (r *runner) askGroup(syscall.Signal) bool    { return false }
func (r *runner) passOn(syscall.Signal)           {}
func (r *runner) keepSlim()                       {}
func (r *runner) probed()                         {}
func (r *runner) relieve()                        {}
func (r *runner) hears(syscall.Signal) bool       { return false }
func (c *child) signal(syscall.Signal)            {}
func (c *child) close()                           {}
func (t *tree) empty() bool                       { return true }
func (t *tree) pids() []int                       { return nil }
func (t *tree) names() string                     { return "" }
func (t *tree) ask()                              {}
func (t *tree) kill()                             {}
func (g *grip) Signal(syscall.Signal) error       { return syscall.ENOSYS }
func (g *grip) Ended() bool                       { return true }
func (g *grip) Close() error                      { return nil }
func (t *target) freeze()                         {}
func (t *target) ask(syscall.Signal) (int, error) { return 0, syscall.ENOSYS }

func (r *runner) filter(context.Context, string, []byte) (health.Exit, error) {
	return health.Exit{}, able(r.c)
}
