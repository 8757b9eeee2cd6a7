package right

import (
	"context"
	"log"
	"os"

	"github.com/solehold/solehold"
)

func serve() error { return nil }

func main() { os.Exit(run()) }

func run() int {
	lock, err := solehold.Acquire(context.Background(), "/srv/kb", nil)
	if err != nil {
		return 1
	}
	defer lock.Release()
	if err := serve(); err != nil {
		log.Print(err)
		return 1
	}
	return 0
}
