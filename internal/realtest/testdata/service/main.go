// Command service is what the tests run where the usual programs are not: it
// listens, has a child if it is told to, and ends as it is told.
package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "exit" {
		code, _ := strconv.Atoi(os.Args[2])
		os.Exit(code)
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	// Of two addresses the second is the child's, which is in a group of its own.
	if len(os.Args) == 3 {
		self, _ := os.Executable()
		child := exec.Command(self, os.Args[2])
		child.SysProcAttr = apart()
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	go serve(os.Args[1])
	<-asked
	os.Exit(7)
}

// serve answers until it is told to be sick.
func serve(addr string) {
	var sick atomic.Bool
	http.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if sick.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, os.Getpid())
	})
	http.HandleFunc("/sick", func(http.ResponseWriter, *http.Request) {
		sick.Store(true)
		fmt.Println("sick from now on")
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(addr, nil))
	os.Exit(3)
}
