package supervise

import "net/netip"

// Listeners is listeners, for the tests.
func Listeners(at netip.AddrPort) ([]uint32, error) { return listeners(at) }
