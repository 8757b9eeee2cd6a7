// Command solehold-drill is `solehold lab`: claims about locks, tried on this machine.
package main

import (
	"fmt"
	"os"

	"github.com/solehold/solehold/internal/lab"
	"github.com/spf13/cobra"
)

const exitUsage = 64

func main() {
	code := 0
	root := &cobra.Command{
		Use:         "solehold-drill",
		Short:       "Try on this machine what is believed about locks",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "solehold"},
		Args:        cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(lab.Command(&code))
	if err := root.Execute(); err != nil {
		fmt.Fprintf(os.Stderr, "solehold: %v\n  next: see solehold lab --help\n", err)
		code = exitUsage
	}
	os.Exit(code)
}
