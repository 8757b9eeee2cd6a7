package servers

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/solehold/solehold/internal/testneed"
)

// PostgreSQL is one server, which runs as the user postgres: it refuses to be root's. Starting it takes root.
func PostgreSQL() Kind {
	return Kind{
		Name: "postgres", Needs: []string{"initdb", "postgres"}, Get: "apt-get install postgresql",
		Stop:    syscall.SIGINT, // a fast shutdown, which ends its children too
		Command: postgres,
	}
}

func postgres(base, addr string, output *bytes.Buffer) (*exec.Cmd, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	dir := filepath.Join(base, "data")
	if err := errors.Join(os.Chmod(filepath.Dir(base), 0o755), os.Mkdir(dir, 0o700), os.Chown(dir, uid, gid), os.Chown(base, uid, gid)); err != nil {
		return nil, err
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(testneed.Find(name), args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = base, output, output
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return cmd
	}
	if err := command("initdb", "-D", dir, "-A", "trust", "--no-sync").Run(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, output)
	}
	_, port, err := net.SplitHostPort(addr)
	return command("postgres", "-D", dir, "-k", base, "-h", "127.0.0.1", "-p", port, "-F"), err
}
