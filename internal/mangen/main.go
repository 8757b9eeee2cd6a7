// Command mangen writes the manual pages, the completion scripts and the journal's
// catalogue from the same texts as the commands' help. It is a program of its own, so that the
// lean binary does not carry a text formatter.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/solehold/solehold/internal/cli"
	"github.com/solehold/solehold/internal/clustercli"
	"github.com/solehold/solehold/internal/drillcli"
	"github.com/solehold/solehold/internal/journald"
	"github.com/solehold/solehold/internal/probecli"
	"github.com/solehold/solehold/internal/servecli"
	"github.com/spf13/cobra/doc"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mangen DIR")
		os.Exit(64) //archtest:allow exit a program for the build, with nothing to release
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "mangen:", err)
		os.Exit(1) //archtest:allow exit a program for the build, with nothing to release
	}
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "solehold.catalog"), []byte(journald.Catalog()), 0o644); err != nil {
		return err
	}
	man := filepath.Join(dir, "man1")
	completions := filepath.Join(dir, "completion")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root := cli.Root()
	for _, cmd := range append(drillcli.Root().Commands(), root, servecli.Root(), clustercli.Root(), probecli.Root()) {
		cmd.Root().DisableAutoGenTag = true
		if err := doc.GenManTree(cmd, &doc.GenManHeader{Title: "SOLEHOLD", Section: "1", Source: "solehold"}, man); err != nil {
			return err
		}
	}
	// They ask solehold for the words, and it asks its companions for theirs.
	return errors.Join(
		root.GenBashCompletionFileV2(filepath.Join(completions, "solehold.bash"), true),
		root.GenZshCompletionFile(filepath.Join(completions, "_solehold")),
		root.GenFishCompletionFile(filepath.Join(completions, "solehold.fish"), true),
	)
}
