package cli

import (
	"fmt"
	"strings"

	"github.com/solehold/solehold/docs/findings"
	"github.com/spf13/cobra"
)

func (a *app) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [ID...]",
		Short: "Tell what a finding means and what to do about it",
		Long: `Tell what a finding of doctor means: what was seen, why it matters, and what to
do. Without an id it lists all of them.`,
		Example: `  solehold doctor explain
  solehold doctor explain SH021`,
		RunE: func(cmd *cobra.Command, ids []string) error { return a.explain(cmd, ids) },
	}
	return cmd
}

func (a *app) explain(cmd *cobra.Command, ids []string) error {
	if len(ids) == 0 {
		for _, id := range findings.IDs() {
			fmt.Fprintf(a.env.Stdout, "%s  %s\n", id, findings.Title(id))
		}
		return nil
	}
	for i, id := range ids {
		page, ok := findings.Page(strings.ToUpper(id))
		if !ok {
			return usage(cmd, "there is no finding %q", id)
		}
		if a.json {
			a.printJSON(a.env.Stdout, map[string]string{"id": strings.ToUpper(id), "title": findings.Title(strings.ToUpper(id)), "page": page})
			continue
		}
		if i > 0 {
			fmt.Fprintln(a.env.Stdout)
		}
		fmt.Fprint(a.env.Stdout, page)
	}
	return nil
}
