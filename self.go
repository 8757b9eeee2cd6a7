package solehold

import (
	"os"
	"os/user"
	"sync"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/record"
)

// thisProcess is what a holder says of itself, gathered once.
type thisProcess struct {
	proc     procfs.FS
	observer procid.Observer
	holder   record.Holder
	encoder  *record.Encoder
	boot     string // first part of the boot id, for events
	mounts   sync.Map
	buffers  sync.Pool // of *[record.FileSize]byte, for the contents of lock files
}

// buffer returns room for a lock file's content; give it back to buffers.
func (p *thisProcess) buffer() *[record.FileSize]byte {
	if b, ok := p.buffers.Get().(*[record.FileSize]byte); ok {
		return b
	}
	return new([record.FileSize]byte)
}

var self = sync.OnceValue(func() *thisProcess {
	p := &thisProcess{proc: procfs.Default()}
	p.observer = procid.NewObserver(p.proc)
	p.holder = record.Holder{Process: processOf(p.observer.Self()), MachineID: procid.MachineID(), UID: os.Getuid()}
	if p.holder.PID == 0 { // without /proc at least the pid is known
		p.holder.PID = os.Getpid()
	}
	if p.holder.Exe, _ = p.proc.Exe(0); p.holder.Exe == "" {
		p.holder.Exe, _ = os.Executable()
	}
	if p.holder.UID < 0 {
		if u, err := user.Current(); err == nil {
			p.holder.User = u.Username
		}
	}
	p.holder.Command = os.Args
	p.holder.Host, _ = os.Hostname()
	p.holder.Origin = originOf(p.proc)
	p.encoder = record.NewEncoder(p.holder)
	p.boot = p.holder.BootID[:min(8, len(p.holder.BootID))]
	return p
})

func originOf(proc procfs.FS) record.Origin {
	o := procid.OriginOf(proc, 0)
	return record.Origin{By: o.By, Unit: o.Unit, Invocation: o.Invocation, Container: o.Container, TTY: o.TTY, Parents: o.Parents}
}

// mount looks a directory's mount up once for each device: the table is long
// and a start must be short.
func (p *thisProcess) mount(d *datadir.Dir) record.Mount {
	if m, ok := p.mounts.Load(d.Key().Dev); ok {
		return m.(record.Mount)
	}
	fsys := d.Filesystem(p.proc)
	m := record.Mount{Type: fsys.Type, Source: fsys.Source}
	p.mounts.Store(d.Key().Dev, m)
	return m
}
