package journald

import (
	"fmt"
	"strings"

	"github.com/solehold/solehold/internal/journal"
)

// Catalog is the file by which journalctl -x explains the events.
func Catalog() string {
	var b strings.Builder
	b.WriteString("# What journalctl -x says of the events of solehold.\n")
	for _, k := range journal.Kinds() {
		fmt.Fprintf(&b, "\n-- %s\nSubject: %s\nDefined-By: solehold\n\n%s\n\nsolehold history @SOLEHOLD_DIR@ shows what came before and after.\n", MessageID(k), subject(k), meaning(k))
	}
	return b.String()
}

func subject(k journal.Kind) string {
	return "The data directory @SOLEHOLD_DIR@: " + string(k)
}

// meaning explains a kind of event.
func meaning(k journal.Kind) string {
	return map[journal.Kind]string{
		journal.Acquired:         "A process has the directory now, with the fencing token @SOLEHOLD_TOKEN@. Nobody else on this machine can get it until it lets go or ends.",
		journal.ChildStarted:     "The command of solehold run was started.",
		journal.Ready:            "The service says that it serves, or has answered its first probe.",
		journal.Health:           "The service is alive and does not answer its probe well, or answers again.",
		journal.Restart:          "The command is started again after a failure, or not any more because it failed too often.",
		journal.Recovery:         "A watch has found the service down and has started it.",
		journal.Incident:         "What could be seen of a service that hangs was saved before anything else was done. solehold incident show tells what it was.",
		journal.ReleaseRequested: "Somebody asks the owner to let go of the directory.",
		journal.Released:         "The owner has let go; the directory is free.",
		journal.Lost:             "The owner could not prove any more that the directory is its own, and was told to stop. Find out what took the lock away before it starts again.",
		journal.LockRemoved:      "Somebody removed or damaged files of solehold while they were in use. The directory stayed guarded; find what cleans there.",
		journal.Refused:          "A start was turned away because the directory has its owner. Nothing has to be done.",
		journal.Vanished:         "The last owner ended without a release: by a crash, by a kill, or with the machine. The next one may start without any clean-up.",
		journal.ChildExited:      "The command of solehold run has ended.",
		journal.Forced:           "Processes that did not end when they were asked to were killed.",
		journal.Reload:           "A file that the service reads has changed, and it was told, or the new content was not good.",
		journal.ClockStep:        "The clock was set, or the computer has slept.",
		journal.Moved:            "The path no longer leads to the directory that is owned.",
	}[k]
}
