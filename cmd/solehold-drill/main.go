// Command solehold-drill is `solehold drill` and `solehold lab`: it forces the faults that are otherwise met by chance.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/drill/engine"
	"github.com/solehold/solehold/internal/drillcli"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == drill.EngineVerb {
		fmt.Fprintln(os.Stderr, engine.Serve(os.Args[2], os.Args[3], os.Stdout))
		os.Exit(1)
	}
	os.Exit(drillcli.Run(context.Background(), drillcli.System(), os.Args[1:]))
}
