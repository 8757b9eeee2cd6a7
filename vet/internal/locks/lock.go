package locks

import (
	"go/ast"
	"go/constant"
	"go/types"
)

// Lock is a place where a lock is taken.
type Lock struct {
	// Call takes it.
	Call *Call
	// Carrier is the variable or field by which it is let go again; nil where there is none.
	Carrier types.Object
	// Path is the expression for the file that it lies on; nil where that is unknown, as for a name in an open
	// directory, and for a directory of solehold.
	Path ast.Expr
	// Opens are the calls that may have opened the file.
	Opens []*Call
	// OK and Err are the numbers of the results that say whether it was taken; -1 for none.
	OK, Err int
	// Sure says that the call locks; otherwise it may as well unlock, as its arguments decide.
	Sure bool
	// POSIX says that the lock belongs to the process, not to the open file: closing any descriptor of the file ends it.
	POSIX bool
	// Collected says that the lock ends when the garbage collector finds nobody who uses the carrier.
	Collected bool
	// Leaves says that something stays behind when the process ends without a release.
	Leaves bool
}

// findLocks finds the calls that take a lock themselves, and then those that do through functions of the package.
func (x *Index) findLocks() []*Lock {
	var direct []*Lock
	for name, calls := range x.calls {
		r, ok := ruleOf(name)
		if !ok {
			continue
		}
		for _, c := range calls {
			if l := x.direct(c, r); l != nil {
				direct = append(direct, l)
			}
		}
	}
	all, last := direct, direct
	for range 2 { // a function that returns what another one locks
		var next []*Lock
		for _, l := range last {
			next = append(next, x.through(l)...)
		}
		all, last = append(all, next...), next
	}
	return all
}

// direct makes the lock of a call whose rule is known; nil where the call is one that unlocks.
func (x *Index) direct(c *Call, r rule) *Lock {
	l := &Lock{Call: c, OK: r.ok, Err: r.err, Sure: true, Collected: r.collected, Leaves: r.leaves}
	switch c.Name {
	case "sys.Flock":
		how, known := c.Int(1)
		un, _ := c.Const("LOCK_UN")
		if known && how&un != 0 {
			return nil
		}
		l.Sure = known
	case "sys.FcntlFlock":
		if !l.fcntl(x) {
			return nil
		}
	}
	switch {
	case r.carrier == byArg && len(c.Args) > 0:
		l.Carrier = x.Carrier(c.Args[0])
	case r.carrier == byRecv:
		l.Carrier = x.Carrier(c.Recv())
	case r.carrier == byResult:
		l.Carrier = c.Result(0)
	}
	l.setPath(x)
	if r.carrier == byArg {
		l.Collected = l.Carrier != nil && isFile(l.Carrier.Type())
	}
	return l
}

// fcntl reads the command and the structure of an fcntl lock; false for one that only asks or unlocks.
func (l *Lock) fcntl(x *Index) bool {
	c := l.Call
	l.POSIX = c.Is(1, "F_SETLK") || c.Is(1, "F_SETLKW")
	ofd := c.Is(1, "F_OFD_SETLK") || c.Is(1, "F_OFD_SETLKW")
	if _, known := c.Int(1); known && !l.POSIX && !ofd {
		return false
	}
	l.Sure = false
	if len(c.Args) == 3 {
		typ, known := x.structType(c.Args[2], 2)
		un, _ := c.Const("F_UNLCK")
		if known && typ == un {
			return false
		}
		l.Sure = known && (l.POSIX || ofd)
	}
	return true
}

// setPath finds the file under the lock.
func (l *Lock) setPath(x *Index) {
	if l.Call.Path() != nil {
		l.Opens = []*Call{l.Call}
	} else if l.Carrier != nil {
		l.Opens = x.Openers(l.Carrier)
	}
	if recv := l.Call.Recv(); recv != nil && len(l.Opens) == 0 {
		if c := x.Call(ast.Unparen(recv)); c != nil { // flock.New(path).TryLock()
			l.Opens = []*Call{c}
		} else {
			l.Opens = x.Openers(x.Root(recv))
		}
	}
	if len(l.Opens) == 1 && !l.Opens[0].Anchored() {
		l.Path = l.Opens[0].Path()
	}
}

// isFile says whether t is *os.File.
func isFile(t types.Type) bool {
	p, ok := t.(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	return ok && named.Obj().Name() == "File" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "os"
}

// Opened gives the call that opened the file where there is only one.
func (l *Lock) Opened() *ast.CallExpr {
	if len(l.Opens) != 1 {
		return nil
	}
	return l.Opens[0].CallExpr
}

// Creates says whether taking the lock may make its file: only then can there be a second file under the name after the
// first is removed. Flags that are no constants may.
func (l *Lock) Creates() bool {
	for _, o := range l.Opens {
		switch o.Name {
		case "os.Open", "os.ReadFile", "lockedfile.Open":
			continue
		case "os.OpenFile", "lockedfile.OpenFile", "etcdfile.LockFile", "etcdfile.TryLockFile", "sys.Open":
			if flags, known := o.Int(1); known && flags&o.create() == 0 {
				continue
			}
		}
		return true
	}
	return len(l.Opens) == 0
}

// create gives the flag that makes a file, which the packages of libraries take from os or syscall.
func (c *Call) create() int64 {
	for _, name := range []string{"O_CREAT", "O_CREATE"} {
		if v, ok := c.Const(name); ok {
			return v
		}
	}
	for _, imp := range c.Func.Pkg().Imports() {
		if imp.Path() == "os" {
			if k, ok := imp.Scope().Lookup("O_CREATE").(*types.Const); ok {
				v, _ := constant.Int64Val(k.Val())
				return v
			}
		}
	}
	return ^0 // any flag may be the one
}
