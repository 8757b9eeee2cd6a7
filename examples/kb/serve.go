package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/solehold/solehold"
)

// drainTime is how long requests that have begun may take to end.
const drainTime = 10 * time.Second

// serve opens the database and answers until something ends the service. When it returns nothing of this process
// touches the data directory any more, so the lock can be released. The error is a *solehold.LostError if the lock was
// lost meanwhile.
func serve(lock *solehold.Lock, s settings) error {
	notes, err := openStore(lock.Context(), filepath.Join(lock.Dir(), "kb.db"), lock.Token())
	if err == nil {
		err = errors.Join(answerRequests(lock, s, notes), notes.close())
	}
	return errors.Join(err, context.Cause(lock.Context()))
}

// answerRequests listens until a signal, the loss of the lock or a request to let go of it.
func answerRequests(lock *solehold.Lock, s settings, notes *store) error {
	// The context ends on a signal and also with the lock; its cause tells which it was.
	// It is not undone on the way out: who asks for the directory and sends a signal, too, as solehold run does, must not
	// end this process in the middle of closing the database.
	ctx, stop := signal.NotifyContext(lock.Context(), os.Interrupt, syscall.SIGTERM)
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	server := newServer(lock.Context(), notes)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer drain(server)
	if err := announce(lock, listener.Addr().String(), s.addrFile); err != nil {
		return err
	}
	if s.addrFile != "" {
		defer os.Remove(s.addrFile) // while it is still ours: a successor may write it after the release
	}
	select {
	case <-ctx.Done():
		slog.Info("shutting down", "because", context.Cause(ctx))
		stop() // a second signal ends the process at once; the kernel frees the lock then, too
	case <-lock.ReleaseRequested():
		slog.Info("shutting down", "because", "asked to let go of "+lock.Dir())
	case err = <-served:
	}
	return err
}

// newServer returns a server whose requests end with the lock: a transaction that is open when the lock is lost is
// rolled back, and none begins afterwards.
func newServer(life context.Context, notes *store) *http.Server {
	return &http.Server{
		Handler:           newHandler(notes),
		BaseContext:       func(net.Listener) context.Context { return life },
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
}

// announce tells that the service answers: whoever asks for the owner of the directory, the log, the file if there is to
// be one, and stdout.
func announce(lock *solehold.Lock, addr, file string) error {
	if err := lock.Ready(); err != nil {
		slog.Warn("not written down as ready", "err", err) // a full disk, say; the lock is held all the same
	}
	slog.Info("listening on", "addr", addr, "data", lock.Dir(), "token", lock.Token())
	if file != "" {
		if err := replaceFile(file, addr+"\n"); err != nil {
			return err
		}
	}
	fmt.Println("http://" + addr)
	return nil
}

// replaceFile writes a file in one step: who reads it finds all of it.
func replaceFile(name, text string) error {
	if err := os.WriteFile(name+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// drain stops listening and lets requests end; those that take too long are cut off.
func drain(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		slog.Warn("requests cut off", "after", drainTime, "err", err)
		server.Close()
	}
}
