package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const (
	exitFound = 1
	exitUsage = 64
)

// world is where the lines go.
type world struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

const usage = `Find lock mistakes in Go packages before they run.

Usage:
  solehold vet [flags] [packages]

Flags and packages are those of go vet: -json, -fix, -diff, -tags LIST, -c N, and one flag for each
analyzer, to run only some (-lockremove) or all but some (-lockremove=false).

  solehold vet ./...
  solehold vet help              list the analyzers
  solehold vet help lockremove   say what is wrong, what is right, and what is not seen
  go vet -vettool=$(which solehold-vet) ./...

Exit codes:
  0    nothing found
  1    findings, or packages that do not compile
  64   the command line is wrong, or there is no go command
`

// asked says whether the go command asks, or whether help is wanted that the analyzers have themselves.
func asked(args []string) bool {
	if len(args) == 0 {
		return false
	}
	last := args[len(args)-1]
	return strings.HasPrefix(args[0], "-V=") || args[0] == "-flags" || args[0] == "help" || strings.HasSuffix(last, ".cfg")
}

// run lets the go command find, compile and cache the packages, with this program as its tool.
func run(w world, args []string) int {
	if len(args) == 0 || slices.Contains([]string{"-h", "-help", "--help"}, args[0]) {
		fmt.Fprint(w.stdout, usage)
		return 0
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintf(w.stderr, "solehold-vet: this program does not find itself: %v\n", err)
		return exitUsage
	}
	cmd := exec.Command("go", append([]string{"vet", "-vettool=" + self}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = w.stdin, w.stdout, w.stderr
	err = cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended) && ended.ExitCode() == 2:
		return exitUsage
	case errors.As(err, &ended):
		return exitFound
	}
	fmt.Fprintf(w.stderr, "solehold-vet: %v\n  next: install Go (https://go.dev/dl) and put it on PATH; packages are read by the go command\n", err)
	return exitUsage
}
