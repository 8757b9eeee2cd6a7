package procid

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// look opens the process for as little as can be asked.
func look(pid int) (glance, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	switch err {
	case nil:
	case windows.ERROR_INVALID_PARAMETER: // what Windows says of a number without a process
		return glance{}, errNoProcess
	case windows.ERROR_ACCESS_DENIED:
		return glance{}, errHidden
	default:
		return glance{}, err
	}
	defer windows.CloseHandle(h)
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return glance{}, err
	}
	// An ended process stays for as long as somebody has a handle of it.
	event, err := windows.WaitForSingleObject(h, 0)
	return glance{start: ticks(created), ended: event == windows.WAIT_OBJECT_0}, err
}

func ticks(t windows.Filetime) uint64 { return uint64(t.HighDateTime)<<32 | uint64(t.LowDateTime) }

func session(pid int) int {
	var id uint32
	if windows.ProcessIdToSessionId(uint32(pid), &id) != nil {
		return 0
	}
	return int(id)
}

// gone tells a process of an earlier boot by its creation time. The wall clock may
// have been set since, so this is the reason only: that it is gone is certain.
func gone(id ID) Why {
	created := windows.Filetime{LowDateTime: uint32(id.StartTicks), HighDateTime: uint32(id.StartTicks >> 32)}
	if booted := time.Now().Add(-sinceBoot()); time.Unix(0, created.Nanoseconds()).Before(booted.Add(-time.Minute)) {
		return OtherBoot
	}
	return NoSuchProcess
}

// confined is a question of jails.
func confined() bool { return false }

func sinceBoot() time.Duration { return windows.DurationSinceBoot() }

// machineID is made when Windows is installed.
var machineID = sync.OnceValue(func() string {
	return strings.ReplaceAll(text(`SOFTWARE\Microsoft\Cryptography`, "MachineGuid"), "-", "")
})

// bootID is the number of the boot, which Windows counts; empty where it does not.
var bootID = sync.OnceValue(func() string {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters`, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer k.Close()
	n, _, err := k.GetIntegerValue("BootId")
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%08x", n)
})

func text(path, name string) string {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return ""
	}
	defer k.Close()
	v, _, err := k.GetStringValue(name)
	if err != nil {
		return ""
	}
	return v
}

// startedBy names session and parent: a service's is session 0.
func startedBy(pid int) string {
	if pid == 0 {
		pid = os.Getpid()
	}
	by := fmt.Sprintf("session %d", session(pid))
	if parent, name := parentOf(pid); parent != 0 {
		by += fmt.Sprintf(" (%s, pid %d)", name, parent)
	}
	return by
}

// parentOf finds the process that started pid, unless it has gone and another one
// has its number.
func parentOf(pid int) (parent int, name string) {
	all := processes()
	parent = int(all[uint32(pid)].ParentProcessID)
	p, there := all[uint32(parent)]
	child, err := look(pid)
	before, parentErr := look(parent)
	if !there || err == nil && parentErr == nil && before.start > child.start {
		return 0, ""
	}
	return parent, windows.UTF16ToString(p.ExeFile[:])
}

func processes() map[uint32]windows.ProcessEntry32 {
	all := map[uint32]windows.ProcessEntry32{}
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return all
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		all[entry.ProcessID] = entry
	}
	return all
}
