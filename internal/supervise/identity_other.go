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

// units refuses what needs systemd.
func units() error { return unable("start and stop a unit of systemd (--unit)") }

// linuxOnly refuses what needs Linux.
func linuxOnly(c Config) error {
	if c.Cluster != nil {
		return unable("hold the lock of a cluster (--cluster): that needs Linux")
	}
	for _, check := range []*Check{c.Health, c.Startup} {
		if check != nil && check.Beat > 0 {
			return unable("hear what a command says of itself (--health-notify): that is systemd's protocol, for Linux")
		}
	}
	return nil
}
