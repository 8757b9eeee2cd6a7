//go:build !solehold_portable

package supervise

import (
	"net/netip"
	"time"

	"github.com/solehold/solehold/internal/policy"
)

// Listeners is listeners, for the tests.
func Listeners(at netip.AddrPort) ([]uint32, error) { return listeners(at) }

// Driver is a driver by clocks of the test.
type Driver struct{ d driver }

// NewDriver makes one.
func NewDriver(clocks func() (boot, awake time.Duration), c policy.Config, do func(policy.Command)) (*Driver, error) {
	d, err := driveBy(clocks, c, policy.Memory{}, do)
	return &Driver{d}, err
}

// Feed gives it an input.
func (d *Driver) Feed(in policy.Input) { d.d.feed(in) }
