package doctor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// rmProcess is RM_PROCESS_INFO of restartmanager.h.
type rmProcess struct {
	pid                                uint32
	started                            windows.Filetime
	name                               [256]uint16
	service                            [64]uint16
	kind, status, session, restartable uint32
}

var errNoRestartManager = errors.New("the Restart Manager of this system does not tell")

// usersOf lists the processes that have one of the files open, this one left out.
// It has one open itself meanwhile: an answer without it is none.
func usersOf(files []string) ([]Process, error) {
	if len(files) == 0 {
		return nil, nil
	}
	own, err := os.Open(files[0])
	if err != nil {
		return nil, err
	}
	defer own.Close()
	session, err := openSession()
	if err != nil {
		return nil, err
	}
	defer session.close()
	if err := session.register(files); err != nil {
		return nil, err
	}
	all, err := session.list()
	if err != nil {
		return nil, err
	}
	self := func(p Process) bool { return p.PID == os.Getpid() }
	if !slices.ContainsFunc(all, self) {
		return nil, errNoRestartManager
	}
	return slices.DeleteFunc(all, self), nil
}

// rmSession is one question to the Restart Manager.
type rmSession struct {
	dll    *windows.LazyDLL
	handle uint32
}

// call calls a function of it, whose result is an error number.
func (s *rmSession) call(name string, args ...uintptr) error {
	p := s.dll.NewProc(name)
	if err := p.Find(); err != nil {
		return fmt.Errorf("%w: %w", errNoRestartManager, err)
	}
	if code, _, _ := p.Call(args...); code != 0 {
		return fmt.Errorf("%s: %w", name, windows.Errno(code))
	}
	return nil
}

func openSession() (*rmSession, error) {
	const keyLength = 33 // CCH_RM_SESSION_KEY + 1
	var key [keyLength]uint16
	s := &rmSession{dll: windows.NewLazySystemDLL("rstrtmgr.dll")}
	err := s.call("RmStartSession", uintptr(unsafe.Pointer(&s.handle)), 0, uintptr(unsafe.Pointer(&key[0])))
	return s, err
}

func (s *rmSession) close() { s.call("RmEndSession", uintptr(s.handle)) }

func (s *rmSession) register(files []string) error {
	names := make([]*uint16, 0, len(files))
	for _, f := range files {
		name, err := windows.UTF16PtrFromString(f)
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	return s.call("RmRegisterResources", uintptr(s.handle), uintptr(len(names)), uintptr(unsafe.Pointer(&names[0])), 0, 0, 0, 0)
}

// list asks again with more room for as long as that was too little.
func (s *rmSession) list() ([]Process, error) {
	const tries = 5
	room := uint32(16)
	for range tries {
		found := make([]rmProcess, room)
		var need, reasons uint32
		have := room
		err := s.call("RmGetList", uintptr(s.handle), uintptr(unsafe.Pointer(&need)), uintptr(unsafe.Pointer(&have)),
			uintptr(unsafe.Pointer(&found[0])), uintptr(unsafe.Pointer(&reasons)))
		if errors.Is(err, windows.ERROR_MORE_DATA) {
			room = need + need/2
			continue
		}
		if err != nil {
			return nil, err
		}
		var all []Process
		for _, p := range found[:min(have, room)] {
			all = append(all, p.process())
		}
		return all, nil
	}
	return nil, windows.ERROR_MORE_DATA
}

func (p rmProcess) process() Process {
	out := Process{PID: int(p.pid), Command: windows.UTF16ToString(p.name[:]), Started: time.Unix(0, p.started.Nanoseconds()).UTC()}
	if service := windows.UTF16ToString(p.service[:]); service != "" {
		out.Command += ", service " + service
	}
	return out
}
