// Command solehold-vet finds lock mistakes in Go programs. It is run by hand, as `solehold vet`, or by the go command:
//
//	go vet -vettool=$(which solehold-vet) ./...
package main

import (
	"os"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/solehold/solehold/vet"
)

func main() {
	if asked(os.Args[1:]) {
		unitchecker.Main(vet.Suite()...)
	}
	os.Exit(run(world{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}
