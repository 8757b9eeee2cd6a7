package locks

import "strings"

// carrier says what carries a lock after the call that took it.
type carrier int

const (
	byArg    carrier = iota // the file or descriptor that is the first argument
	byRecv                  // the receiver
	byResult                // the first result
)

// rule describes a call that takes a lock.
type rule struct {
	carrier   carrier
	ok, err   int  // results that say whether it was taken; -1 for none
	collected bool // the lock ends when the garbage collector finds nobody who uses the carrier
	leaves    bool // something stays behind when the process ends without a release
}

// ruleOf gives the rule for the call of the function with this name.
func ruleOf(name string) (rule, bool) {
	pkg, fn, _ := strings.Cut(name, ".")
	switch pkg {
	case "sys":
		return rule{byArg, -1, 0, true, false}, fn == "Flock" || fn == "FcntlFlock"
	case "filelock":
		return rule{byArg, -1, 0, true, false}, fn == "Lock" || fn == "RLock"
	case "gofrs":
		return gofrs(fn)
	case "fslock", "filemutex", "nightlyone":
		method := fn[strings.LastIndex(fn, ".")+1:]
		taken := fn != method && (method == "Lock" || method == "TryLock" || method == "RLock" || method == "LockWithTimeout")
		return rule{byRecv, -1, 0, false, pkg == "nightlyone"}, taken
	case "lockedfile", "etcdfile", "singleinstance", "promfile", "jujumutex", "gofslock", "solehold":
		return opened(pkg, fn)
	}
	return rule{}, false
}

func gofrs(fn string) (rule, bool) {
	switch fn {
	case "Flock.Lock", "Flock.RLock":
		return rule{byRecv, -1, 0, true, false}, true
	case "Flock.TryLock", "Flock.TryRLock", "Flock.TryLockContext", "Flock.TryRLockContext":
		return rule{byRecv, 0, 1, true, false}, true
	}
	return rule{}, false
}

// opened has the functions that return what they have locked.
func opened(pkg, fn string) (rule, bool) {
	switch pkg + "." + fn {
	case "lockedfile.Create", "lockedfile.Edit", "lockedfile.Open", "lockedfile.OpenFile",
		"etcdfile.LockFile", "etcdfile.TryLockFile", "singleinstance.CreateLockFile":
		return rule{byResult, -1, 1, true, false}, true
	case "lockedfile.Mutex.Lock", "jujumutex.Acquire", "gofslock.Lock", "gofslock.LockShared":
		return rule{byResult, -1, 1, false, false}, true
	case "promfile.Flock":
		return rule{byResult, -1, 2, true, false}, true
	case "solehold.Acquire":
		return rule{byResult, -1, 1, false, false}, true
	case "solehold.OnlyOrExit":
		return rule{byResult, -1, -1, false, false}, true
	}
	return rule{}, false
}

// pathArg says which argument of the function with this name is the path of the file that it opens or locks.
func pathArg(name string) (int, bool) {
	switch name {
	case "os.Open", "os.OpenFile", "os.Create", "os.ReadFile", "os.WriteFile", "sys.Open", "sys.Creat",
		"gofrs.New", "fslock.New", "filemutex.New", "nightlyone.New", "lockedfile.MutexAt",
		"lockedfile.Create", "lockedfile.Edit", "lockedfile.Open", "lockedfile.OpenFile",
		"etcdfile.LockFile", "etcdfile.TryLockFile", "singleinstance.CreateLockFile", "promfile.Flock",
		"gofslock.Lock", "gofslock.LockShared":
		return 0, true
	case "sys.Openat", "os.Root.Open", "os.Root.Create", "os.Root.OpenFile":
		return map[bool]int{true: 1, false: 0}[name == "sys.Openat"], true
	}
	return 0, false
}
