package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/solehold/solehold/internal/record"
	"github.com/spf13/cobra"
)

// versionInfo is what `version` tells.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Format  int    `json:"format"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Tell which solehold this is",
		Example: `  solehold version
  solehold version --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version()
			if a.json {
				a.printJSON(a.env.Stdout, v)
				return nil
			}
			fmt.Fprintf(a.env.Stdout, "solehold %s %s %s/%s, on-disk format %d\n", v.Version, v.Go, v.OS, v.Arch, v.Format)
			return nil
		},
	}
}

func version() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Format: record.Format}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}
