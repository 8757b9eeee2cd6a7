package supervisors

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/solehold/solehold/bench/internal/mark"
)

// The roles are the last part of a mark. The supervisor's sorts behind the others.
const (
	roleService    = "service"
	roleEscapee    = "escapee" // has left the service's session and group
	roleIgnorer    = "ignorer" // is in its group and ignores TERM, INT and HUP
	roleSupervisor = "supervisor"
)

// The words that the service understands.
const (
	wordDeaf  = "deaf"    // ignore TERM, INT and HUP
	wordTree  = "tree"    // start an escapee and an ignorer
	wordReady = "ready"   // say so in s6's way: a line on descriptor 3
	wordHTTP  = "http:%d" // answer every request on this port with 200
)

// source of the service: service MARK ROLE FILE WORD... A process's environment
// is seen from outside as it was at its exec, so one without the mark sets it and
// executes itself again; the time that it tells is that of the first main.
const source = `#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char **args;

static void become(char *role) {
	char *next[] = {args[0], args[1], role, args[3], NULL};
	execv(args[0], next);
	_exit(127);
}

static void child(char *role) {
	if (fork() != 0) return;
	if (!strcmp(role, "escapee")) setsid();
	become(role);
}

static void serve(int port) {
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int one = 1, s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char request[4096];
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(s, (struct sockaddr *)&at, sizeof at) || listen(s, 8)) exit(1);
	for (;;) {
		int c = accept(s, NULL, NULL);
		if (c < 0) continue;
		if (read(c, request, sizeof request) > 0 && write(c, answer, sizeof answer - 1) > 0) shutdown(c, SHUT_WR);
		while (read(c, request, sizeof request) > 0) {}
		close(c);
	}
}

int main(int argc, char **argv) {
	struct timespec t;
	char mark[256], line[64];
	int port = 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	if (argc < 4) return 64;
	args = argv;
	int service = !strcmp(argv[2], "service"), deaf = !strcmp(argv[2], "ignorer"), ready = 0;
	for (int i = 4; i < argc; i++) deaf |= !strcmp(argv[i], "deaf");
	/* before it is seen: what is ignored stays ignored over exec */
	if (deaf) signal(SIGTERM, SIG_IGN), signal(SIGINT, SIG_IGN), signal(SIGHUP, SIG_IGN);
	snprintf(mark, sizeof mark, "%s/%s", argv[1], argv[2]);
	const char *have = getenv("MARK_VAR");
	if (!have || strcmp(have, mark)) {
		snprintf(line, sizeof line, "%lld", t.tv_sec * 1000000000LL + t.tv_nsec);
		setenv("MARK_VAR", mark, 1);
		setenv("MARK_VAR_AT", line, 1);
		execv(argv[0], argv);
		return 127;
	}
	alarm(900); /* whatever happens to the benchmark, it does not stay for ever */
	for (int i = 4; i < argc; i++) {
		if (!strcmp(argv[i], "ready")) ready = 1;
		if (!strcmp(argv[i], "tree")) child("escapee"), child("ignorer");
		sscanf(argv[i], "http:%d", &port);
	}
	if (service) {
		int f = open(argv[3], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		int n = snprintf(line, sizeof line, "%d %s\n", getpid(), getenv("MARK_VAR_AT"));
		if (f < 0 || write(f, line, n) != n) return 74;
		close(f);
	}
	if (ready && write(3, "\n", 1) != 1) return 74;
	if (port) serve(port);
	for (;;) pause();
}
`

// Build makes the service in dir; it needs a C compiler.
func Build(dir string) (string, error) {
	file := filepath.Join(dir, "service.c")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(source, "MARK_VAR", mark.Var)), 0o600); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "service")
	if out, err := exec.Command("cc", "-O2", "-static", "-o", program, file).CombinedOutput(); err != nil {
		return "", fmt.Errorf("the service needs cc and libc6-dev: %w %s", err, out)
	}
	return program, nil
}
