package exits

import (
	"fmt"
	"log"
	"os"
)

func die(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1) // want `exits true panics false`
}

func dieMaybe(err error) {
	if err == nil {
		return
	}
	os.Exit(1) // want `exits true panics false`
}

func use(l *log.Logger, err error) {
	die(err)       // want `exits true panics false`
	dieMaybe(err)  // it may come back
	log.Fatal(err) // want `exits true panics false`
	l.Fatalf("no") // want `exits true panics false`
	log.Panic(err) // want `exits false panics true`
	panic(err)     // want `exits false panics true`
}

func shadowed(panic func(error)) { panic(nil) }
