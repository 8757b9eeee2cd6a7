//go:build !solehold_portable

package supervise

import (
	"os"
	"strconv"
	"syscall"

	"github.com/solehold/solehold/internal/sdnotify"
)

// adopt makes the command start through Adopt.
func (s *spec) adopt() {
	s.args = append([]string{"solehold", AdoptVerb, s.path}, s.args...)
	s.path = "/proc/self/exe"
}

// Adopt becomes a command for which sockets are meant: args are its path and its
// arguments. It returns only with an error.
func Adopt(args []string) error {
	if len(args) < 2 {
		return syscall.EINVAL
	}
	env := environ(map[string]string{sdnotify.ListenPIDVar: strconv.Itoa(os.Getpid())}, nil)
	return notStarted(args[1], syscall.Exec(args[0], args[1:], env))
}
