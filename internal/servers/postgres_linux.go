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

// PgBouncer is a pooler in transaction mode before a server at an address: each statement may meet another session of it.
func PgBouncer(server string) Kind {
	return Kind{
		Name: "pgbouncer", Needs: []string{"pgbouncer"}, Get: "apt-get install pgbouncer", Stop: syscall.SIGTERM,
		Command: func(base, addr string, _ *bytes.Buffer) (*exec.Cmd, error) { return pgbouncer(base, addr, server) },
	}
}

func pgbouncer(base, addr, server string) (*exec.Cmd, error) {
	owner, err := postgresUser()
	host, port, hostErr := net.SplitHostPort(addr)
	toHost, toPort, toErr := net.SplitHostPort(server)
	if err := errors.Join(err, hostErr, toErr); err != nil {
		return nil, err
	}
	file := filepath.Join(base, "pgbouncer.ini")
	config := fmt.Sprintf(`[databases]
* = host=%s port=%s user=postgres
[pgbouncer]
listen_addr = %s
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
`, toHost, toPort, host, port)
	err = errors.Join(os.Chmod(filepath.Dir(base), 0o755), os.Chmod(base, 0o755), os.WriteFile(file, []byte(config), 0o644))
	cmd := exec.Command(testneed.Find("pgbouncer"), file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	return cmd, err
}

// postgresUser is the one that Debian's packages make.
func postgresUser() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func postgres(base, addr string, output *bytes.Buffer) (*exec.Cmd, error) {
	owner, err := postgresUser()
	if err != nil {
		return nil, err
	}
	uid, gid := int(owner.Uid), int(owner.Gid)
	dir := filepath.Join(base, "data")
	if err := errors.Join(os.Chmod(filepath.Dir(base), 0o755), os.Mkdir(dir, 0o700), os.Chown(dir, uid, gid), os.Chown(base, uid, gid)); err != nil {
		return nil, err
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(testneed.Find(name), args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = base, output, output
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
		return cmd
	}
	if err := command("initdb", "-D", dir, "-A", "trust", "--no-sync").Run(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, output)
	}
	_, port, err := net.SplitHostPort(addr)
	return command("postgres", "-D", dir, "-k", base, "-h", "127.0.0.1", "-p", port, "-F"), err
}
