package lab

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/unix"
)

// bootScript makes systemd the first process of its namespaces, over a copy of / that vanishes with them.
//
//go:embed killmode.sh
var bootScript string

// memberRole is a child of the service with children.
const memberRole = "member"

func killMode() Experiment {
	const (
		before = "processes of the service: main, one in another group, one in another session"
		group  = "left after a kill of the main process's group"
		whole  = "left after systemctl stop with KillMode=control-group"
		single = "left after systemctl stop with KillMode=process"
	)
	return Experiment{
		Name:     "kill-mode",
		Title:    "KillMode=control-group misses children in other process groups",
		Believed: "systemd's KillMode=control-group signals the process group, so a child that made a group or session of its own survives a stop.",
		Happens: "A control group is not a process group: the kernel puts every child into its parent's, and a process cannot leave it by setsid or setpgid. systemd signals " +
			"all of it. What does miss them is a kill of the process group, and KillMode=process.",
		Advice: "Keep KillMode=control-group, which is the default. Without systemd stop the cgroup (cgroup.kill), or let a subreaper sweep: `solehold run` stops until the tree is empty.",
		Facts:  []Fact{{before, "3"}, {group, "2"}, {whole, "0"}, {single, "2"}},
		needs: []need{
			{"root", "run it as root", func() bool { return os.Geteuid() == 0 }},
			{"systemd and unshare", "apt-get install systemd util-linux", haveSystemd},
			needNamespaces(apartPIDs),
		},
		apart: apartPIDs,
		run: func(b *bench) {
			mode := "process"
			b.decisive(func() { mode = "control-group" })
			b.do(func() error { return b.family("plain") })
			b.see(before, len(b.members("plain", 2)))
			b.do(func() error { return syscall.Kill(-b.servers[0].Process.Pid, syscall.SIGKILL) })
			b.do(func() error { _ = b.servers[0].Wait(); return nil }) // killed, as it was meant
			b.see(group, len(b.members("plain", 0)))
			b.boot(map[string]string{"one": mode, "two": "process"})
			b.see(whole, b.leftBySystemd("one"))
			b.see(single, b.leftBySystemd("two"))
		},
	}
}

func haveSystemd() bool {
	_, err := os.Stat("/lib/systemd/systemd")
	_, err2 := exec.LookPath("unshare")
	return err == nil && err2 == nil
}

// family starts a service with two children in a process group of its own.
func (b *bench) family(tag string) error {
	cmd, err := self(b.ctx, "family", tag)
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.servers = append(b.servers, cmd)
	return cmd.Start()
}

// serviceWithChildren is the inside of that service.
func serviceWithChildren(tag string) int {
	for _, attr := range []*syscall.SysProcAttr{{Setpgid: true}, {Setsid: true}} {
		path, err := os.Executable()
		if err != nil {
			return codeFor(err)
		}
		cmd := exec.Command(path, "lab", roleWord, memberRole, tag)
		cmd.SysProcAttr = attr
		if err := cmd.Start(); err != nil {
			return codeFor(err)
		}
	}
	return untilKilled()
}

func untilKilled() int {
	for {
		_ = unix.Pause() // it returns for every signal that Go takes for itself
	}
}

// members gives the live processes with a tag, as soon as so many of them are children.
// A child that was forked and has not yet become its program looks like its parent, and
// may be in the parent's group still.
func (b *bench) members(tag string, children int) (pids []int) {
	b.do(func() error {
		for {
			pids = pids[:0]
			missing := children
			proc := procfs.Default()
			all, err := proc.Pids()
			if err != nil {
				return err
			}
			for _, pid := range all {
				line, err := proc.Cmdline(pid)
				if err == nil && slices.Contains(line, tag) && slices.Contains(line, roleWord) {
					pids = append(pids, pid)
					if slices.Contains(line, memberRole) {
						missing--
					}
				}
			}
			if missing <= 0 {
				return nil
			}
			if err := b.pause(); err != nil {
				return err
			}
		}
	})
	return pids
}

// boot starts a systemd in a control group and namespaces of its own, with a service for each mode.
func (b *bench) boot(modes map[string]string) {
	share := b.newDir("share")
	b.newDir("layers")
	b.newDir("root")
	cgroups := b.newDir("cgroups")
	b.mount("cgroup2", cgroups, "")
	b.do(func() error {
		for name, mode := range modes {
			unit := fmt.Sprintf("[Unit]\nDefaultDependencies=no\n[Service]\nKillMode=%s\nExecStart=/lab/program lab role family %s\n", mode, name)
			if err := os.WriteFile(filepath.Join(share, name+".service"), []byte(unit), 0o644); err != nil {
				return err
			}
			if err := unix.Mkfifo(filepath.Join(share, "stop-"+name), 0o600); err != nil {
				return err
			}
		}
		return errors.Join(b.copySelf(filepath.Join(share, "program")), os.WriteFile(b.path("boot.sh"), []byte(bootScript), 0o600))
	})
	b.do(func() error { return b.startSystemd(cgroups) })
}

func (b *bench) copySelf(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

func (b *bench) startSystemd(cgroups string) error {
	own := filepath.Join(cgroups, filepath.Base(b.dir))
	if err := os.Mkdir(own, 0o755); err != nil {
		return fmt.Errorf("a control group of its own: %w", err)
	}
	b.undo = append(b.undo, func() error { return removeCgroups(b, own) })
	dir, err := os.Open(own)
	if err != nil {
		return err
	}
	defer dir.Close()
	cmd := exec.CommandContext(b.ctx, "unshare", "--cgroup", "/bin/sh", b.path("boot.sh"), b.dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		UseCgroupFD: true, CgroupFD: int(dir.Fd()),
	}
	b.servers = append(b.servers, cmd)
	return cmd.Start()
}

// removeCgroups removes what systemd has made, when its last process is gone.
func removeCgroups(b *bench, own string) error {
	var all []string
	err := filepath.WalkDir(own, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			all = append(all, path)
		}
		return err
	})
	slices.Reverse(all)
	for _, dir := range all {
		for {
			gone := os.Remove(dir)
			if gone == nil || !errors.Is(gone, unix.EBUSY) || b.pause() != nil {
				err = errors.Join(err, gone)
				break
			}
		}
	}
	return err
}

// leftBySystemd stops a service and counts what is left of it.
func (b *bench) leftBySystemd(name string) int {
	b.members(name, 2)
	b.do(func() error { return os.WriteFile(b.path("share", "stop-"+name), []byte("\n"), 0) })
	b.do(func() error {
		for {
			text, err := os.ReadFile(b.path("share", "stopped-"+name))
			switch {
			case err == nil && strings.TrimSpace(string(text)) == "0":
				return nil
			case err == nil && len(text) > 0:
				return fmt.Errorf("systemctl stop: exit code %s", text)
			}
			if err := b.pause(); err != nil {
				return err
			}
		}
	})
	return len(b.members(name, 0))
}
