// Command kb is a small shared knowledge base: notes over HTTP, kept and searched by SQLite.
//
// It shows what a service does to be alone with its data directory. The whole of that is in run: take the directory
// first thing, give it back last. The rest of the program uses what it got: the token fences its writes (store.go),
// the context ends its requests when the lock is lost (serve.go).
package main

import (
	"cmp"
	"flag"
	"log/slog"
	"os"

	"github.com/solehold/solehold"
)

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	s := parse()
	if err := run(s); err != nil {
		slog.Error("kb ended", "because", err)
		os.Exit(solehold.ExitCode(err)) // run has returned, so nothing deferred is skipped
	}
	slog.Info("bye")
}

// run serves for as long as this process holds the data directory. Where another one has it, OnlyOrExit says so and
// ends this process with code 0: the service runs, which is what was wanted.
func run(s settings) error {
	lock := solehold.OnlyOrExit(s.data)
	defer lock.Release()
	return serve(lock, s)
}

// settings are what the command line says.
type settings struct {
	data     string // the data directory
	addr     string // where to listen, host:port
	addrFile string // where to write the real address, "" for nowhere
}

// parse reads the command line and ends the process with a usage message where it is wrong.
func parse() settings {
	var s settings
	flag.StringVar(&s.data, "data", cmp.Or(os.Getenv("SOLEHOLD_DIR"), "data"), "data `directory`, made if it is missing")
	flag.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free one")
	flag.StringVar(&s.addrFile, "addr-file", "", "`file` that has the real address while the service answers")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2) // as package flag does; nothing is held yet
	}
	return s
}
