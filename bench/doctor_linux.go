package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/solehold/solehold/bench/internal/floor"
	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/turn"
)

const (
	crowdSize = 2000 // processes
	crowdFDs  = 25   // descriptors of each
	// everyLock is how many of them have one lock between them.
	everyLock = 10
)

// doctor measures `solehold doctor` on this host as it is, and beside lsof and
// lslocks on a host with many processes.
func (b *bench) doctor() error {
	if !b.wantsAny("doctor/") {
		return nil
	}
	t, err := b.tools()
	if err != nil {
		b.note("skipped: %v", err)
		return nil
	}
	ours := turn.Side{Name: "doctor", Sample: toItsEnd(t.solehold, "doctor", "--timeout", "60s")}
	all, err := b.plan(false).Run(ours)
	if err != nil {
		return err
	}
	b.single("doctor/quiet", "`solehold doctor` on this host, spawn to end", "ns", report.FigureOf(all[0], true))
	c := &crowd{dir: filepath.Join(b.dir, "crowd")}
	defer c.end()
	size := crowdSize
	if b.quick {
		size /= 10
	}
	if err := c.gather(size); err != nil {
		return err
	}
	b.note("the host has %d more processes with %d descriptors each, and %d locks", len(c.all), crowdFDs, size/everyLock)
	floored := turn.Side{Name: "system calls alone", Sample: func() (float64, error) {
		begin := helper.Now()
		_, err := floor.Descriptors()
		return float64(helper.Now() - begin), err
	}}
	b.measure(pair{"doctor/floor", "doctor: beside one call for each descriptor of the host, without a process", ours, floored, false})
	for _, peer := range []string{"lsof", "lslocks"} {
		version, err := exec.Command(peer, "--version").CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			b.note("%s: %v", peer, err)
			continue
		}
		text, _, _ := strings.Cut(string(version), "\n")
		if err == nil {
			b.note("%s", text)
		}
		key, title := "doctor/"+peer, "doctor: beside "+peer
		if peer == "lslocks" && !asksAll(text) {
			key, title = key+"-holders", title+", which asks holders only"
			b.note("it asks only the processes that the kernel's list names, and sees no inherited lock: `make bench-doctor` has one that asks all, as lsof and doctor do")
		}
		b.measure(pair{key, title, ours, turn.Side{Name: peer, Sample: toItsEnd(peer)}, true})
	}
	kib, err := peak(t.solehold, "doctor", "--timeout", "60s")
	if err == nil {
		b.single("doctor/memory", "memory of `solehold doctor` there", "KiB", report.Figure{Median: kib})
	}
	return err
}

// asksAll says whether lslocks of this version looks at every process: util-linux began to in 2.40.
func asksAll(version string) bool {
	_, number, _ := strings.Cut(version, "util-linux ")
	var major, minor int
	if n, _ := fmt.Sscanf(number, "%d.%d", &major, &minor); n < 2 {
		return false
	}
	return major > 2 || major == 2 && minor >= 40
}

// toItsEnd is the time from spawn to end, whatever the exit code: findings and
// what could not be read have codes of their own.
func toItsEnd(args ...string) func() (float64, error) {
	return func() (float64, error) {
		begin := helper.Now()
		err := ignoreCode(exec.Command(args[0], args[1:]...).Run())
		return float64(helper.Now() - begin), err
	}
}

func ignoreCode(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// peak is the largest resident size of a run, in KiB.
func peak(args ...string) (float64, error) {
	cmd := exec.Command(args[0], args[1:]...)
	if err := ignoreCode(cmd.Run()); err != nil {
		return 0, err
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, errors.New("no resource usage")
	}
	return float64(usage.Maxrss), nil
}

// crowd is many processes that only sleep.
type crowd struct {
	dir string
	all []*exec.Cmd
}

// gather starts them: files of their own and of all, and for some a lock.
func (c *crowd) gather(size int) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	for i := range size {
		if err := c.one(i); err != nil {
			return fmt.Errorf("process %d of the crowd: %w", i, err)
		}
	}
	return nil
}

func (c *crowd) one(i int) error {
	own := filepath.Join(c.dir, strconv.Itoa(i))
	cmd := exec.Command("sleep", "900")
	if i%everyLock == 0 {
		cmd = exec.Command("flock", own, "sleep", "900")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for fd := 3; fd < crowdFDs; fd++ {
		name, flags := "/etc/passwd", os.O_RDONLY
		switch fd % 8 {
		case 0:
			name, flags = own, os.O_RDWR|os.O_CREATE
		case 1, 2:
			name = os.DevNull
		}
		f, err := os.OpenFile(name, flags, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.all = append(c.all, cmd)
	return nil
}

// end ends the groups that were started here.
func (c *crowd) end() {
	for _, cmd := range c.all {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	for _, cmd := range c.all {
		cmd.Wait()
	}
}
