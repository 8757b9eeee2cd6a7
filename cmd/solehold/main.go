// Command solehold gives a data directory one live owner, and proof of who it is.
package main

import (
	"context"
	"os"

	"github.com/solehold/solehold/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), cli.System(), os.Args[1:]))
}
