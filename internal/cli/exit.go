package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/supervise"
)

// exitCode is one row of the table from which both the codes and the help come.
type exitCode struct {
	code    int
	meaning string
}

const (
	exitUsage      = 64
	exitGaveUp     = 69
	exitNoInput    = 66
	exitCreate     = 73
	exitLockIO     = 74
	exitHeld       = 75
	exitLost       = 76
	exitPermission = 77
	exitRefused    = 78
)

// fewFiles is said by every command, and by some it is all that cannot be opened.
const fewFiles = "too few files may be open (ulimit -n)"

func runCodes() []exitCode {
	return []exitCode{
		{0, "the directory, or the lock of the cluster, already has its owner (--held-exit changes this code)"},
		{exitUsage, "the command line is wrong, there is no such command, or this system has not what it asks for"},
		{exitGaveUp, "gave up: the command failed too often"},
		{exitCreate, "something cannot be opened or made: missing, full, read-only"},
		{exitLockIO, "the file system refused the lock, or it or the cluster did not answer"},
		{exitHeld, "held by what the command of an earlier run left behind; nobody may be serving"},
		{exitLost, "the lock was lost and the command stopped"},
		{exitPermission, "not permitted"},
		{exitRefused, "refused: it would not be safe"},
	}
}

func claimCodes() []exitCode {
	return []exitCode{
		{exitUsage, "the command line is wrong, or this system has not what it asks for"},
		{exitCreate, "something cannot be opened or made: missing, full, read-only"},
		{exitLockIO, "the file system refused the lock, or it or the cluster did not answer"},
		{exitHeld, "the directory, or the lock of the cluster, already has its owner (--held-exit changes this code)"},
		{exitLost, "the sticky claim of an earlier start was broken"},
		{exitPermission, "not permitted"},
		{exitRefused, "refused: it would not be safe"},
	}
}

func topCodes() []exitCode {
	return []exitCode{
		{0, "it was shown"},
		{exitUsage, "the command line is wrong"},
		{exitCreate, fewFiles},
	}
}

const (
	watchUnwell  = 1
	watchUnknown = 4
)

func watchCodes() []exitCode {
	return []exitCode{
		{0, "it is well, or was started, or another watch is at work; or a signal ended the watch"},
		{watchUnwell, "with --once: it is not well, and was only reported or could not be started"},
		{watchUnknown, "with --once: it cannot be told whether it is well, or who has the directory"},
		{exitUsage, "the command line is wrong, or there is no such command"},
		{exitGaveUp, "gave up: it does not stay up"},
		{exitCreate, "something cannot be opened or made: missing, full, read-only"},
		{exitLockIO, "the file system refused the lock, or did not answer"},
		{exitPermission, "not permitted"},
		{exitRefused, "refused: it would not be safe"},
	}
}

const (
	statusHeld    = 0
	statusStale   = 1
	statusFree    = 3
	statusUnknown = 4
	statusDanger  = 5
)

func statusCodes() []exitCode {
	return []exitCode{
		{statusHeld, "HELD: it has a live owner"},
		{statusStale, "FREE, and the last owner left no release"},
		{statusFree, "FREE"},
		{statusUnknown, "UNKNOWN: it cannot be told from here"},
		{statusDanger, "danger: SPLIT, UNGUARDED or DETACHED"},
		{exitUsage, "the command line is wrong"},
		{exitCreate, fewFiles},
	}
}

const (
	doctorNothing  = 0
	doctorFindings = 1
	doctorGaps     = 2
)

func doctorCodes() []exitCode {
	return []exitCode{
		{doctorNothing, "nothing was found"},
		{doctorFindings, "findings, the worst first"},
		{doctorGaps, "some checks could not run, or nothing was found where not all could be seen"},
		{exitUsage, "the command line is wrong"},
		{exitCreate, fewFiles},
	}
}

func historyCodes() []exitCode {
	return []exitCode{
		{0, "this is the history, or nothing has happened yet"},
		{exitUsage, "the command line is wrong"},
		{exitCreate, "there is no such directory, or it cannot be opened"},
		{exitLockIO, "the file system did not answer"},
		{exitPermission, "not permitted"},
		{exitRefused, "refused: something is in the place of solehold's files"},
	}
}

// incidentCodes are those of show and pack.
func incidentCodes(good string) []exitCode {
	return []exitCode{
		{0, good},
		{exitUsage, "the command line is wrong"},
		{exitNoInput, "there is no such incident, or no such part of it"},
		{exitCreate, "there is no such directory, or something cannot be opened or made"},
		{exitLockIO, "the file system did not answer"},
		{exitPermission, "not permitted"},
		{exitRefused, "refused: something is in the place of solehold's files"},
	}
}

func releaseCodes() []exitCode {
	return []exitCode{
		{0, "its owner has let go, or nobody has it"},
		{exitUsage, "the command line is wrong"},
		{exitCreate, "there is no such directory, or the request cannot be written"},
		{exitLockIO, "it cannot be told who has it, or the file system did not answer"},
		{exitHeld, "still held: its owner did not let go in time, or cannot be asked"},
		{exitLost, "still held in spite of --force: who has it is not visible here, or does not end"},
		{exitPermission, "not permitted"},
		{exitRefused, "refused: this command would end itself, or something is in the place of solehold's files"},
	}
}

func cleanCodes() []exitCode {
	return []exitCode{
		{0, "done, or this is what would be done, or there is nothing to do"},
		{exitUsage, "the command line is wrong"},
		{exitCreate, "there is no such directory, or something cannot be opened or removed"},
		{exitLockIO, "it cannot be told who has it, or the file system did not answer"},
		{exitHeld, "held: nothing was touched"},
		{exitPermission, "not permitted"},
		{exitRefused, "refused: a process works there without the lock, or something is in the place of solehold's files"},
	}
}

func unitCodes() []exitCode {
	return []exitCode{
		{0, "this is the definition, or it is written or removed, or nothing is to be done"},
		{exitUsage, "the command line is wrong, or cannot be told to such a manager"},
		{exitCreate, "there is no such manager here, or something cannot be opened or made"},
		{exitPermission, "not permitted"},
		{exitRefused, "refused: a different definition is there, or would be hidden, or was not made here, or is enabled"},
	}
}

const (
	checkNothing  = 0
	checkFindings = 1
)

func unitCheckCodes() []exitCode {
	return []exitCode{
		{checkNothing, "nothing was found"},
		{checkFindings, "findings, the worst first"},
		{exitUsage, "the command line is wrong, or this is no unit file"},
		{exitNoInput, "there is no such file, or it cannot be read"},
	}
}

func rootNewCodes() []exitCode {
	return []exitCode{
		{0, "this is the root"},
		{exitUsage, "the command line is wrong, or the name is none for a root"},
		{exitCreate, "something cannot be opened or made: missing, full, read-only"},
		{exitLockIO, "the file system refused the lock, or did not answer"},
		{exitHeld, "the root is in use"},
		{exitPermission, "not permitted"},
		{exitRefused, "refused: it would not be safe, or the disk that it was born on is not mounted"},
	}
}

func rootPathCodes() []exitCode {
	return []exitCode{
		{0, "this is the path, whether there is a root or not"},
		{exitUsage, "the command line is wrong, or the name is none for a root"},
		{exitCreate, fewFiles},
		{exitRefused, "refused: this system does not say where such data has its place"},
	}
}

// rootListCodes are those of list and gc.
func rootListCodes() []exitCode {
	return []exitCode{
		{0, "these are the roots, or there are none"},
		{exitUsage, "the command line is wrong"},
		{exitCreate, "there is no such directory, or something cannot be opened"},
		{exitLockIO, "the file system did not answer"},
		{exitPermission, "not permitted"},
		{exitRefused, "refused: it would not be safe, or this system does not say where such data has its place"},
	}
}

// codesHelp is the part of a help text that lists exit codes.
func codesHelp(first string, codes []exitCode) string {
	var b strings.Builder
	b.WriteString("\n\nExit codes:\n")
	if first != "" {
		fmt.Fprintf(&b, "  %s\n", first)
	}
	for _, c := range codes {
		fmt.Fprintf(&b, "  %-3d %s\n", c.code, c.meaning)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// codeOf returns the exit code of an error.
func codeOf(err error) int {
	var use *usageError
	var command *supervise.CommandError
	var orphan *supervise.OrphanError
	var signal *supervise.SignalError
	var givenUp *supervise.GivenUpError
	var root *refusedRoot
	var inUse *inUseError
	var interrupted *interruptedError
	var inside *supervise.InsideError
	var held *supervise.StillHeldError
	if code, ok := codeOfCluster(err); ok {
		return code
	}
	var unit *unitError
	switch {
	case errors.As(err, &unit):
		return unit.code
	case errors.As(err, &use), errors.As(err, &command):
		return exitUsage
	case isNoIncident(err):
		return exitNoInput
	case errors.As(err, &orphan), errors.As(err, &inside):
		return exitRefused
	case errors.As(err, &givenUp):
		return exitGaveUp
	case errors.As(err, &held):
		return exitLost
	case errors.As(err, &interrupted):
		return 128 + int(interrupted.signal)
	case errors.As(err, &root):
		return exitRefused
	case errors.As(err, &inUse):
		return exitHeld
	case errors.As(err, &signal):
		return 128 + int(signal.Signal)
	case errors.Is(err, errFiles):
		return exitCreate
	}
	return solehold.ExitCode(err)
}

func isNoIncident(err error) bool {
	return errors.Is(err, evidence.ErrNoIncident) || errors.Is(err, evidence.ErrNoPart)
}

const filesStep = "raise the limit (ulimit -n)"

// nextStep says what a person can do about an error.
func nextStep(err error) string {
	var use *usageError
	var op *solehold.OpError
	var command *supervise.CommandError
	var givenUp *supervise.GivenUpError
	var root *refusedRoot
	if step := clusterStep(err); step != "" {
		return step
	}
	var unit *unitError
	switch {
	case errors.As(err, &unit):
		return unit.next
	case errors.As(err, &use):
		return use.hint
	case errors.As(err, &command):
		return commandStep(command)
	case isNoIncident(err):
		return "see solehold incident list"
	case errors.As(err, &root):
		return root.next
	case errors.Is(err, errFiles):
		return filesStep
	case errors.As(err, &givenUp):
		return "see solehold history " + givenUp.Dir + "; when its cause is mended, start it from a terminal, or once with --retry"
	case !errors.As(err, &op):
		return ""
	}
	switch op.Reason {
	case solehold.NotPermitted:
		return permissionStep(op)
	case solehold.LockFailed:
		return "check rpc.statd and lockd if this is NFS, or put the data on a local disk"
	case solehold.Unanswered:
		return "check whether the disk or the server behind it still answers"
	case solehold.Unsupported:
		return "that is for other systems: see the table of systems in README.md"
	case solehold.CannotCreate:
		return createStep(op)
	}
	return ""
}

func commandStep(err *supervise.CommandError) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "write its whole path, or check PATH; nothing was started"
	case errors.Is(err, fs.ErrPermission):
		return "make it executable (chmod +x), or name its interpreter before it; nothing was started"
	case errors.Is(err, syscall.ENOEXEC):
		return "name its interpreter before it, e.g. sh " + err.Command + "; nothing was started"
	}
	return "nothing was started"
}

func permissionStep(op *solehold.OpError) string {
	if os.Geteuid() == 0 {
		return "not even root may: it is immutable (lsattr), or its server or container maps root to another user"
	}
	if st, err := os.Stat(op.Path); err == nil {
		return fmt.Sprintf("%s; it is %s%s: run as its owner, or chown it", youAre(), st.Mode(), ownerOf(st))
	}
	return youAre() + ": run as the directory's owner"
}

// youAre names the user, who has a number on some systems.
func youAre() string {
	if id := os.Getuid(); id >= 0 {
		return fmt.Sprintf("you are uid %d", id)
	}
	return "you are " + os.Getenv("USERNAME")
}

func createStep(op *solehold.OpError) string {
	switch {
	case errors.Is(op.Err, fs.ErrExist):
		return "name another file with -o; nothing is overwritten"
	case errors.Is(op.Err, fs.ErrNotExist):
		return "is the disk mounted? If the directory is new, run with --create"
	case errors.Is(op.Err, syscall.ENOSPC), errors.Is(op.Err, syscall.EFBIG), errors.Is(op.Err, syscall.EDQUOT):
		return "make room; nothing was started and nothing is lost"
	case errors.Is(op.Err, syscall.ENOTDIR):
		return "name the directory, not a file"
	case errors.Is(op.Err, syscall.EROFS):
		return "mount it writable, or put solehold's files elsewhere with --state"
	case errors.Is(op.Err, datadir.ErrMoved):
		return "find what removes it again and again; nothing was started"
	case errors.Is(op.Err, syscall.ELOOP):
		return "its symlinks lead in a circle: see namei " + op.Path
	case errors.Is(op.Err, syscall.ENAMETOOLONG):
		return "give it a shorter name"
	case errors.Is(op.Err, syscall.EMFILE), errors.Is(op.Err, syscall.ENFILE):
		return filesStep
	}
	return ""
}
