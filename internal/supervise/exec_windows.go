package supervise

import "context"

// Exec is for systems on which a process can become another program.
func Exec(context.Context, Config) error {
	return unable("become the command: a process cannot turn into another program here; leave out --exec")
}
