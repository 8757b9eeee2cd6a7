//go:build !linux || solehold_portable

package supervise

import "github.com/solehold/solehold/health"

// identity would tell whether an answer came from the service. Who listens on a
// port is not asked on this system: every answer counts.
type identity struct{}

func (*identity) check(r health.Result) health.Result { return r }

func (r *runner) identity() *identity { return &identity{} }

func (l *lookout) identity() *identity { return &identity{} }

// Adopt is for sockets of a service manager, which this system has not.
func Adopt([]string) error { return unable("give a command the sockets of systemd") }

// unnotified refuses what needs systemd's protocol.
func unnotified(c Config) error {
	for _, check := range []*Check{c.Health, c.Startup} {
		if check != nil && check.Beat > 0 {
			return unable("hear what a command says of itself (--health-notify): that is systemd's protocol, for Linux")
		}
	}
	return nil
}
