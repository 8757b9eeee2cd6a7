package procid

import "github.com/solehold/solehold/internal/procfs"

// ObserverOn is an observer on a machine of the test's choice.
func ObserverOn(proc procfs.FS, machine string) Observer {
	o := NewObserver(proc)
	o.machine = machine
	return o
}

// KernelFinds reports whether the kernel finds a process by its number alone,
// which it does since Linux 6.14 and in the first pid namespace.
func KernelFinds(id ID) bool {
	alive, err := pidfsAlive(id.PidfsID)
	return id.PIDNS == initPIDNS && alive && err == nil
}
