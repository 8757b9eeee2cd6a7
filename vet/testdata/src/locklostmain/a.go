package main

import (
	"log"
	"os"
	"syscall"
)

func main() {
	f, err := os.Open("/run/app/lock")
	if err != nil {
		log.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { // want `nothing keeps f`
		log.Fatal(err)
	}
	log.Println("up")
	log.Fatal(serve())
}

func serve() error { select {} }
