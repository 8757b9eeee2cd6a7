package wrong

import (
	"context"
	"log"

	"github.com/solehold/solehold"
)

func f(serve func() error) {
	lock, _ := solehold.Acquire(context.Background(), "/srv/kb", nil)
	defer lock.Release()
	if err := serve(); err != nil {
		log.Fatal(err) // want `deferred release does not run`
	}
}
