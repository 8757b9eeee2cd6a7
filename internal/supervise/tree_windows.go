package supervise

import (
	"fmt"
	"path/filepath"
	"unsafe"

	"github.com/solehold/solehold"
	"golang.org/x/sys/windows"
)

// killedCode is the exit code of what was killed by us: that of a shell for a
// process that SIGKILL has ended.
const killedCode = 128 + 9

// tree is every process of the command: those in its job.
type tree struct{ job windows.Handle }

func newTree() (*tree, error) {
	job, err := windows.CreateJobObject(nil, nil) // without a name, and not inherited
	if err != nil {
		return nil, fmt.Errorf("no job for the command: %w", err)
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return nil, fmt.Errorf("the job cannot be made to end with this process: %w", err)
	}
	return &tree{job}, nil
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	times                             [4]int64
	faults, total, active, terminated uint32
}

// active counts the processes of a job.
func active(job windows.Handle) (int, error) {
	const class = 1 // JobObjectBasicAccountingInformation
	var a accounting
	err := windows.QueryInformationJobObject(job, class, uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	return int(a.active), err
}

// empty asks the system, which counts exactly.
func (t *tree) empty() bool {
	n, err := active(t.job)
	return err == nil && n == 0
}

// pids lists the processes of the job.
func (t *tree) pids() []int {
	const most = 4096
	var list struct {
		assigned, listed uint32
		ids              [most]uintptr
	}
	err := windows.QueryInformationJobObject(t.job, windows.JobObjectBasicProcessIdList, uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && err != windows.ERROR_MORE_DATA {
		return nil
	}
	var pids []int
	for _, id := range list.ids[:min(list.listed, most)] {
		pids = append(pids, int(id))
	}
	return pids
}

// names lists the members for people, a few of them.
func (t *tree) names() string {
	return fewOf(t.pids(), func(pid int) string {
		return fmt.Sprintf("pid %d (%s)", pid, solehold.CommandLine(commandOf(pid)))
	})
}

// ask has nobody to ask: the group that Ctrl+Break goes to has lost its leader.
func (t *tree) ask() {}

// kill ends every member at once.
func (t *tree) kill() { windows.TerminateJobObject(t.job, killedCode) }

// commandOf is the program of a process, for people.
func commandOf(pid int) []string {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return nil
	}
	defer windows.CloseHandle(h)
	var path [windows.MAX_LONG_PATH]uint16
	n := uint32(len(path))
	if windows.QueryFullProcessImageName(h, 0, &path[0], &n) != nil {
		return nil
	}
	return []string{filepath.Base(windows.UTF16ToString(path[:n]))}
}
