// Command solehold-drill is `solehold drill` and `solehold lab`: it forces the faults that are otherwise met by chance.
package main

import (
	"context"
	"os"

	"github.com/solehold/solehold/internal/drillcli"
)

func main() {
	os.Exit(drillcli.Run(context.Background(), drillcli.System(), os.Args[1:]))
}
