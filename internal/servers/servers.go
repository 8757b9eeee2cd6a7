// Package servers starts the real engines that tests and benchmarks meet: each a program of its own, on a free port of this
// machine, with its data below a directory that the caller removes. Nothing is synced to the disk, and no server promises
// anything after a crash: what is tried is who owns, not how engines store.
package servers

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
)

// patience bounds how long a server takes to start: a loaded machine is slow.
const patience = 60 * time.Second

// Kind is a server that can be started.
type Kind struct {
	// Name is the engine's: "redis".
	Name string
	// Needs are programs and files without which it does not run, and Get is the command that installs them.
	Needs []string
	// Get is "" where nothing is needed.
	Get string
	// Command gives the program that serves clients at an address, with its data below dir; output is for what it says.
	// nil where this system has none.
	Command func(dir, addr string, output *bytes.Buffer) (*exec.Cmd, error)
	// Stop is the signal that ends it and what it has started, SIGKILL by default.
	Stop os.Signal
}

// Missing gives what this machine lacks for it, or "".
func (k Kind) Missing() string {
	if k.Command == nil {
		return k.Name + " on this system"
	}
	for _, what := range k.Needs {
		if _, err := os.Stat(what); err != nil && testneed.Find(what) == "" {
			return what
		}
	}
	return ""
}

// Server is one that answers.
type Server struct {
	// Addr is its host:port.
	Addr   string
	cmd    *exec.Cmd
	stop   os.Signal
	ended  chan struct{}
	output *bytes.Buffer
}

// Start starts a server and returns when ready says that it answers.
func (k Kind) Start(dir string, ready func(addr string) bool) (*Server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	var output bytes.Buffer
	cmd, err := k.Command(dir, addr, &output)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{Addr: addr, cmd: cmd, stop: k.Stop, ended: make(chan struct{}), output: &output}
	go func() { cmd.Wait(); close(s.ended) }()
	if s.stop == nil {
		s.stop = syscall.SIGKILL
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !ready(addr); {
		select {
		case <-tick.C:
		case <-s.ended:
			return nil, fmt.Errorf("%s has ended: %v: %s", k.Name, cmd.ProcessState, &output)
		case <-late:
			s.Close()
			return nil, fmt.Errorf("%s does not answer within %v: %s", k.Name, patience, &output)
		}
	}
	return s, nil
}

// Close ends the server, and returns when it has ended.
func (s *Server) Close() {
	s.cmd.Process.Signal(s.stop)
	<-s.ended
}

// Run starts a server for a test, which is skipped where something is missing, and gives its address. The server ends with
// the test.
func (k Kind) Run(t testing.TB, ready func(addr string) bool) string {
	t.Helper()
	missing := k.Missing()
	testneed.Feature(t, missing == "", missing, k.Get)
	s, err := k.Start(t.TempDir(), ready)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-s.ended:
			t.Errorf("%s has ended by itself: %v: %s", k.Name, s.cmd.ProcessState, s.output)
		default:
			s.Close()
		}
	})
	return s.Addr
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Redis is redis-server without a disk.
func Redis() Kind {
	return Kind{
		Name: "redis", Needs: []string{"redis-server"}, Get: "apt-get install redis-server",
		Command: func(dir, addr string, _ *bytes.Buffer) (*exec.Cmd, error) {
			host, port, err := net.SplitHostPort(addr)
			return exec.Command("redis-server", "--port", port, "--bind", host, "--save", "", "--appendonly", "no", "--dir", dir), err
		},
	}
}

// ZooKeeper is one server with short ticks, so that sessions of a second are given.
func ZooKeeper() Kind {
	const jar = "/usr/share/java/zookeeper.jar"
	return Kind{
		Name: "zookeeper", Needs: []string{"java", jar}, Get: "apt-get install zookeeper default-jre-headless",
		Command: func(dir, addr string, _ *bytes.Buffer) (*exec.Cmd, error) {
			host, port, err := net.SplitHostPort(addr)
			config := fmt.Sprintf("tickTime=200\ndataDir=%s\nclientPort=%s\nclientPortAddress=%s\nmaxClientCnxns=0\nmaxSessionTimeout=40000\nadmin.enableServer=false\n", dir, port, host)
			file := filepath.Join(dir, "zoo.cfg")
			err = errors.Join(err, os.WriteFile(file, []byte(config), 0o600))
			return exec.Command("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no", "-cp", jar,
				"org.apache.zookeeper.server.quorum.QuorumPeerMain", file), err
		},
	}
}
